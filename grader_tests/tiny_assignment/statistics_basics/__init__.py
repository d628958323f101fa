"""The reference solution: averages, counts and totals, in plain Python."""
