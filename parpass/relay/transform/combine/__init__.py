"""Calls of one operator with one input, put together."""
