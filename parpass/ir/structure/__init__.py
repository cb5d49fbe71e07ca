"""The structure of programs, free of names and objects."""
