"""The assignment's checks, and the adapters through which they reach a submission."""
