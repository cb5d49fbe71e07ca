"""A stage: the work on one function, and what comes of it for all of them."""
