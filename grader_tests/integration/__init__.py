"""One file a command: what a user sees."""
