"""Renders the one record of a graded submission; one module a format, each a pure function."""
