"""The course text, and the training loop that one of its chapters uses."""
