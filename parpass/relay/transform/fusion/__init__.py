"""Operator fusion: the operators that are computed together, and their functions.

The analysis of FuseOps has three steps, each a file: the data flow from values to
users, post-dominators, and the groups that follow.
"""
