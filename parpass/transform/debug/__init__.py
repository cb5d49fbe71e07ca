"""Debugging of passes: bisection, reproducers, and the names of passes in them."""
