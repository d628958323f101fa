"""Closes doors behind a process: layers of its own system, each used where it is to be had."""
