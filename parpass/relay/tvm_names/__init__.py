"""Alternative TVM names of parpass's objects."""
