"""A Transformer language model from scratch: the reference solution of the assignment."""
