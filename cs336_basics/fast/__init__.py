"""Faster versions of the plain modules, with the same results, for training on real text."""
