"""Brings the fixtures and hooks that checks are made with."""

pytest_plugins = ("cs336_checks.plugin",)
