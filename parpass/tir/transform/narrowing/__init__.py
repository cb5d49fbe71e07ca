"""Which variables and indices fit in fewer bits, and the rewrite."""
