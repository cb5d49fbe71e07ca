"""The reference interpreter: defines the meaning of programs, on numpy."""
