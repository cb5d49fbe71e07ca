"""Where a stage is best run: one table of costs, and what is made of it."""
