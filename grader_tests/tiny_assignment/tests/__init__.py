"""The checks of the small assignment."""
