"""A function of the IR as bytes between our own processes.

The nodes are pickled as one list that ends with the function. What stands before a node
is in the pickler's memo already, so it does not go down far from there. The nearest
nodes come last, which is found out quickly and nearly always good enough; where it is
not, the list is in post-order, and the pickler never recurses, however deep the
expression is. Where a function is known to have few nodes, it alone is the list. What
InferType knows of the function goes with them. The values of large constants may stay
outside of it.
"""

from __future__ import annotations

import pickle
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from parpass.relay.expr import Function, GlobalVar
from parpass.relay.ndarray import arrays_from, leaving_arrays
from parpass.relay.node import breadth_first, post_order
from parpass.relay.typed import remember_typed, typed_under

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parpass.transform.adapter import KeepOutside, Source

_FEW = 64  # nodes, which the pickler can go down as deep as they are

_globals: ContextVar[Mapping[str, GlobalVar]] = ContextVar("_globals")


def encode(function: Function, keep_outside: KeepOutside | None = None) -> bytes:
    """Return a function as bytes.

    Args:
        function: The function.
        keep_outside: Called with the array of each constant; see `KeepOutside`.
    """
    typed = typed_under(function)
    nodes: list[Any] = [function]
    if typed is None or typed.nodes > _FEW:
        nodes = breadth_first(function)
        nodes.reverse()
    nodes.append(typed)
    try:
        with leaving_arrays(keep_outside):
            return pickle.dumps(nodes, protocol=5)
    except RecursionError:
        nodes[:-1] = post_order(function)
        with leaving_arrays(keep_outside):
            return pickle.dumps(nodes, protocol=5)


def decode(
    encoded: bytes | memoryview,
    outside: Sequence[Source] = (),
    global_vars: Mapping[str, GlobalVar] | None = None,
) -> Function:
    """Return the function that `encode` was given.

    Args:
        encoded: What `encode` returned; pickle is spoken between our own processes
            only, never read from a file that others can write.
        outside: The sources of the arrays that were left outside, by their index.
        global_vars: The global variables of the module that the function joins;
            references to others of their names become references to them.
    """
    token = _globals.set(global_vars or {})
    try:
        with arrays_from(outside):
            nodes = pickle.loads(encoded)
    finally:
        _globals.reset(token)
    function, typed = nodes[-2:]
    if typed is not None:
        remember_typed(function, typed)
    return function


def global_var_named(name: str) -> GlobalVar:
    """Return the global variable of that name while `decode` runs, else a new one."""
    known = _globals.get({}).get(name)
    return known if known is not None else GlobalVar(name)
