"""Definitions and uses of variables and buffers: each is defined once, before use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from parpass.ir.node import (
    Node,
    bindings,
    children,
    outer_children,
    post_order,
    scopes_of,
)
from parpass.tir.analysis.expr_analysis import expr_deep_equal
from parpass.tir.expr import Buffer, BufferLoad, Let, PrimExpr, Var
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import AttrStmt, BufferStore, For, Stmt


def verify_ssa(func: PrimFunc | Stmt) -> bool:
    """Return whether each variable is bound once, and used only where it is bound.

    As in TVM, free variables are allowed. Expressions may rebind a variable to the same
    value, so one `let` may be several operands.
    """
    check = _Definitions()
    check.run(func)
    return not check.faults


def function_faults(func: PrimFunc) -> list[str]:
    """Return the faults of a function's variables and buffers, as phrases.

    Each variable must be bound once, before its use. Each buffer that is read or
    written must be a parameter, be realized, or be in allocated memory.
    """
    check = _Definitions()
    check.run(func)
    return [*check.faults, *check.free_faults()]


def undefined_vars(func: PrimFunc | Stmt) -> list[Var]:
    """Return the variables that are used but never bound, in order of use."""
    check = _Definitions()
    check.run(func)
    return check.free_vars()


_LOOKED_AT = 2  # times that a node is gone into: the second time it binds again


class _Definitions:
    """Goes through a program in the order of evaluation, scope by scope.

    What was met in a scope, or in one around it, tells nothing new: an expression is
    looked at once, and a statement twice, as the second time it binds again. What was
    gone through twice, wherever that was, is not gone into again: all that it can tell
    is whether the variables that it uses are bound here, too.
    """

    def __init__(self) -> None:
        self._faults: dict[tuple[str, Node], str] = {}  # each told once of a variable
        self._bound: set[Node] = set()  # where we are
        self._ever: set[Node] = set()
        self._free: dict[Node, None] = {}
        self._values: dict[Var, PrimExpr] = {}  # of what expressions bind
        self._met: set[Node] = set()  # in the scopes that we are in
        self._met_again: set[Node] = set()
        self._lately: list[tuple[set[Node], Node]] = []  # in the innermost of these
        self._times: Counter[Node] = Counter()  # that each was gone into
        self._uses = _Uses()

    @property
    def faults(self) -> list[str]:
        """The faults, as text."""
        return [*self._faults.values()]

    def run(self, root: Node) -> None:
        """Find the faults of a program."""
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            if isinstance(item, _Leave):
                self._bound.difference_update(item.bound)
                self._forget(item.before)
            elif isinstance(item, _Enter):
                item.bound = tuple([var for var in item.bound if self._define(var)])
                item.before, self._lately = self._lately, []
            elif isinstance(item, Var):
                self._use(item)
            elif isinstance(item, Node) and self._tells_news(item):
                self._times[item] += 1
                if self._times[item] <= _LOOKED_AT:
                    self._expand(item, stack)
                else:
                    self._use_all(item)

    def _use_all(self, node: Node) -> None:
        """Look at what is used in a node that was gone through before."""
        for one in self._uses.of(node):
            if isinstance(one, Buffer):
                self._use_buffer(one)
            else:
                self._use(one)

    def free_faults(self) -> list[str]:
        """Return the variables and buffers without a declaration."""
        return [
            f"{'buffer' if isinstance(one, Buffer) else 'variable'} "
            f"'{getattr(one, 'name', one)}' is used, but declared nowhere"
            for one in self._free
        ]

    def free_vars(self) -> list[Var]:
        """Return the variables without a binding."""
        return [one for one in self._free if isinstance(one, Var)]

    def _tells_news(self, node: Node) -> bool:
        is_again = node in self._met
        met = self._met_again if is_again else self._met
        if node in met or (is_again and isinstance(node, PrimExpr)):
            return False
        met.add(node)
        self._lately.append((met, node))
        return True

    def _forget(self, before: list[tuple[set[Node], Node]]) -> None:
        for met, node in self._lately:
            met.discard(node)
        self._lately = before

    def _expand(self, node: Node, stack: list[Any]) -> None:
        if isinstance(node, BufferLoad | BufferStore):
            self._use_buffer(node.buffer)
        if isinstance(node, AttrStmt) and node.thread_axis is not None:
            self._ever.discard(node.thread_axis.var)  # an axis may be met again
        elif isinstance(node, Let) and self._is_bound_alike(node):
            self._ever.discard(node.var)
        parts = _parts(node)
        if parts.inside:
            entered = _Enter(parts.bound)
            stack.append(_Leave(entered))
            stack += reversed(parts.inside)
            stack.append(entered)
        stack += reversed(parts.outside)

    def _is_bound_alike(self, node: Let) -> bool:
        is_again = node.var in self._values
        before = self._values.setdefault(node.var, node.value)
        is_free = node.var not in self._bound
        return is_again and is_free and expr_deep_equal(before, node.value)

    def _define(self, var: Any) -> bool:
        known = var in self._bound
        if var in self._ever and isinstance(var, Var):
            self._say(var, "is bound more than once")
        if var in self._free:
            self._say(var, "is used before it is bound")
        self._ever.add(var)
        self._bound.add(var)
        return not known

    def _say(self, var: Any, fault: str) -> None:
        self._faults[fault, var] = f"variable '{var.name}' {fault}"

    def _use(self, var: Any) -> None:
        if var in self._bound:
            return
        if var in self._ever:
            self._say(var, "is used outside of its scope")
        else:
            self._free[var] = None

    def _use_buffer(self, buffer: Buffer) -> None:
        if buffer not in self._bound and buffer.data not in self._bound:
            self._free[buffer] = None


class _Parts(NamedTuple):
    """The parts of a node: outside of the scope of its bindings, and inside."""

    outside: list[Any]
    bound: tuple[Any, ...] = ()
    inside: Sequence[Any] = ()


def _parts(node: Node) -> _Parts:
    """Return what is below a node, but buffers."""
    if isinstance(node, Buffer):
        return _Parts([])
    if isinstance(node, AttrStmt) and node.thread_axis is not None:
        return _Parts([node.value], (node.thread_axis.var,), [node.body])
    bound = bindings(node)
    if isinstance(node, PrimFunc):
        declared = (*bound, *node.buffer_map.values())
        return _Parts([], tuple(dict.fromkeys(declared)), [node.body])
    below = [one for one in children(node) if not isinstance(one, Buffer)]
    if not bound:
        return _Parts(below)
    before = [one for one in outer_children(node) if not isinstance(one, Buffer)]
    realized = getattr(node, "buffer", None)
    if isinstance(realized, Buffer):
        bound = (*bound, realized)
    if isinstance(node, For) and node.thread_binding is not None:
        bound = (*bound, node.thread_binding.var)
    return _Parts(before, bound, scopes_of(node))


class _Uses:
    """The variables and buffers that nodes use and do not bind, in order of use."""

    def __init__(self) -> None:
        self._known: dict[Node, dict[Any, None]] = {}

    def of(self, root: Node) -> dict[Any, None]:
        """Return what a node uses."""
        for node in post_order(root, self._unknown):
            if node not in self._known:
                self._known[node] = self._found(node)
        return self._known[root]

    def _unknown(self, node: Node) -> list[Any]:
        parts = _parts(node)
        return [
            one for one in (*parts.outside, *parts.inside) if one not in self._known
        ]

    def _found(self, node: Node) -> dict[Any, None]:
        if isinstance(node, Var):
            return {node: None}
        outside, bound, inside = _parts(node)
        own = {node.buffer: None} if isinstance(node, BufferLoad | BufferStore) else {}
        found = [own, *(self._known[one] for one in outside)]
        for one in inside:
            used = self._known[one]
            free = {x: None for x in used if not _is_among(x, bound)}
            found.append(used if len(free) == len(used) else free)
        told = [one for one in found if one]
        if len(told) == 1:
            return told[0]  # one object for all nodes of a chain
        return {x: None for one in told for x in one}


def _is_among(used: Any, bound: Sequence[Any]) -> bool:
    return used in bound or (isinstance(used, Buffer) and used.data in bound)


class _Enter:
    def __init__(self, bound: tuple[Any, ...]) -> None:
        self.bound = bound
        self.before: list[tuple[set[Node], Node]] = []


class _Leave:
    def __init__(self, entered: _Enter) -> None:
        self._entered = entered

    @property
    def bound(self) -> tuple[Any, ...]:
        return self._entered.bound

    @property
    def before(self) -> list[tuple[set[Node], Node]]:
        return self._entered.before
