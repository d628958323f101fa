"""Finds the adapters and what they import in a submission, and takes only that."""

from cs336_grader.records import Staged as Staged
