"""A stage: the interpreter of passes on a function, and the outcomes of all."""
