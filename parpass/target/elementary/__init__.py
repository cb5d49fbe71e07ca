"""Elementary functions by polynomials: the same on every machine, and in vectors."""
