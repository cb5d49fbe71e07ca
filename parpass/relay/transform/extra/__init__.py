"""Passes that no shipped pipeline runs.

Gradients, BYOC (code generators of one's own), CPS and defunctionalization, partial
evaluation, mixed precision. `relay.transform` has them under TVM's names.
"""
