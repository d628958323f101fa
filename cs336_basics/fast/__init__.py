"""The same results as the plain modules give, sooner, for those who train on real text."""
