"""Which operators are computed together, and what becomes of them.

The analysis behind FuseOps has three steps, each a file: the data flow from values to
users, who post-dominates whom, and the groups that follow.
"""
