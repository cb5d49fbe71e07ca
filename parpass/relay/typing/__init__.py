"""Type inference, from the top: whom to ask, then how it is done.

`infer` gives types to an expression, `built` to nodes as they are made, `global_types`
to the functions of a module; `ledger` remembers who has them. `inferencer` goes through
an expression; `rules` has the type of each kind of node, `inference` what is open or
wrong meanwhile, `solver` what unknown types stand for, and `scoping` who binds what.
"""
