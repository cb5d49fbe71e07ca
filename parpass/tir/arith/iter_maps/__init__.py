"""Indices that are made of iterators by splitting and fusing them."""
