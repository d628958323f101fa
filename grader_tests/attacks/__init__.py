"""Submissions that attack the grader; what each tries is its first sentence."""
