"""Grades submissions of an assignment without ever running them beside the answers."""
