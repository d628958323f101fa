"""Runs the checks on what came back from the worker, decides, and scores."""
