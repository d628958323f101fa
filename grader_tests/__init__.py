"""Tests of the grader and of this repository; a docstring is the promise that is kept."""
