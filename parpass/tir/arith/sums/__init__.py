"""Sums of quotients and remainders, in a canonical form."""
