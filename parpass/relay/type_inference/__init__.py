"""Type inference.

`infer` has the entry points: for an expression, a function, the functions of a module;
`built` types nodes as they are constructed. `type_inferencer` visits an expression;
`rules`, `call_rules` and `match_types` compute the type of each kind of node,
`inference_state` collects errors and unknown types, `solver` unifies unknown types,
`scoping` checks bindings, and `global_uses` records what was assumed of functions.
"""
