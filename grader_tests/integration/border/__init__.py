"""The border, tried with a submission that has one adapter for each thing."""
