"""Tests of the sandbox, on machines that allow the grader more or less."""
