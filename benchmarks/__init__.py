"""How fast the slow parts are, beside what people use otherwise: make bench."""
