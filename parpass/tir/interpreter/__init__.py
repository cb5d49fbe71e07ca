"""The reference interpreter of loop programs, on numpy, element by element."""
