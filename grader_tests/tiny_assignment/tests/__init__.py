"""The checks of the assignment."""
