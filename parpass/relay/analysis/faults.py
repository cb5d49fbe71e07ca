"""Validity checks of a module's functions: variables, globals, types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from parpass.errors.core import did_you_mean
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import Node, bindings, post_order
from parpass.relay.analysis.effects import effects_across_blocks
from parpass.relay.analysis.scopes import (
    BlockTree,
    used_across_blocks,
    used_out_of_scope,
)
from parpass.relay.analysis.type_analysis import constructors_in, types_used
from parpass.relay.expr import Function, GlobalVar


def function_faults(func: Function, mod: IRModule) -> list[str]:
    """Return a function's violations of Relay's rules, each as a phrase.

    * Each variable is bound once and used only in its scope; a function in a module has
      no free variables.
    * The module defines all globals that the function refers to.
    * Either all expressions of a function have types, or none.
    * An expression with an effect is used in one block only.
    """
    order = post_order(func)
    return [
        *_variables(order),
        *_globals(order, mod),
        *_defined_types(order, mod),
        *_types(order, func),
        *_effects(order, mod),
    ]


def _variables(order: Sequence[Node]) -> Iterator[str]:
    bound = Counter(var for node in order for var in bindings(node))
    for var, times in bound.items():
        if times > 1:
            yield f"variable '%{var.name_hint}' is bound {times} times"
    escaping = used_out_of_scope(order)
    for node in order:
        if node in escaping:
            name = getattr(node, "name_hint", "")
            yield f"variable '%{name}' is used where nothing binds it"


def _globals(order: Iterable[Node], mod: IRModule) -> Iterator[str]:
    for node in order:
        if isinstance(node, GlobalVar) and node.name_hint not in mod:
            name, known = node.name_hint, mod.global_vars_by_name
            yield f"the module has no function '@{name}'{did_you_mean(name, known)}"


def _defined_types(order: Sequence[Node], mod: IRModule) -> Iterator[str]:
    known = mod.types.by_name
    for name in sorted(types_used(order)):
        if name not in known:
            yield f"the module has no type '{name}'{did_you_mean(name, known)}"
    pairs = {(it.belong_to.name_hint, it.name_hint) for it in constructors_in(order)}
    for of, name in sorted(pairs - mod.types.constructors.keys()):
        if of in known:
            yield f"type '{of}' has no constructor '{name}'"


def _types(order: Iterable[Node], func: Function) -> Iterator[str]:
    if func.checked_type_ is None:
        return
    untyped = Counter(
        type(node).__name__
        for node in order
        # Operators have no type; that of a global or a constructor the module knows.
        if not isinstance(node, GlobalVar | Constructor)
        and getattr(node, "checked_type_", func) is None
    )
    for kind, number in untyped.items():
        yield f"the function is typed, but {number} x {kind} in it is not"


def _effects(order: Sequence[Node], mod: IRModule) -> Iterator[str]:
    crossing = used_across_blocks(order, BlockTree(order))
    for node in effects_across_blocks(order, crossing, mod):
        kind = type(node).__name__
        what = f"a {kind} with an effect is used in several blocks"
        yield f"{what}, and no `let` binds it"
