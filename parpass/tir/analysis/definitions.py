"""Whether variables are defined once, and where they are used, and buffers declared."""

from __future__ import annotations

from typing import Any

from parpass.ir.node import Node, bindings, children, reflection
from parpass.tir.analysis.deep_equal import expr_deep_equal
from parpass.tir.buffer import Buffer, BufferLoad
from parpass.tir.expr import Let, Var
from parpass.tir.function import PrimFunc
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import AttrStmt, BufferStore, Stmt


def verify_ssa(func: PrimFunc | Stmt) -> bool:
    """Return whether each variable is bound once, and used where it is bound.

    As in TVM, free variables are no fault here, and expressions may bind a variable
    again to the same value, so that one `let` may be several operands.
    """
    check = _Definitions()
    check.run(func)
    return not check.faults


def function_faults(func: PrimFunc) -> list[str]:
    """Return what is wrong with a function's variables and buffers, in words.

    Each variable is to be bound once, and before it is used; each buffer that is read
    or written is to be a parameter's, realized, or in memory that is allocated.
    """
    check = _Definitions()
    check.run(func)
    return [*check.faults, *check.free_faults()]


def undefined_vars(func: PrimFunc | Stmt) -> list[Var]:
    """Return the variables that are used and bound nowhere, in order of use."""
    check = _Definitions()
    check.run(func)
    return check.free_vars()


class _Definitions:
    """Goes through a program in the order of evaluation, scope by scope.

    What was met in a scope, or in one around it, tells nothing new: an expression is
    looked at once, and a statement twice, as the second time it binds again.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._bound: set[Node] = set()  # where we are
        self._ever: set[Node] = set()
        self._free: dict[Node, None] = {}
        self._values: dict[Var, PrimExpr] = {}  # of what expressions bind
        self._met: set[Node] = set()  # in the scopes that we are in
        self._met_again: set[Node] = set()
        self._lately: list[tuple[set[Node], Node]] = []  # in the innermost of these

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
                self._expand(item, stack)

    def free_faults(self) -> list[str]:
        """Return which variables and buffers nobody declares."""
        return [
            f"{'buffer' if isinstance(one, Buffer) else 'variable'} "
            f"'{getattr(one, 'name', one)}' is used, but declared nowhere"
            for one in self._free
        ]

    def free_vars(self) -> list[Var]:
        """Return the variables that nobody binds."""
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
        if isinstance(node, Buffer):
            return
        if isinstance(node, BufferLoad | BufferStore):
            self._use_buffer(node.buffer)
        if isinstance(node, AttrStmt) and node.thread_axis is not None:
            self._ever.discard(node.thread_axis.var)  # an axis may be met again
            self._push_scope(stack, (node.thread_axis.var,), [node.body])
            stack.append(node.value)
            return
        below = [one for one in children(node) if not isinstance(one, Buffer)]
        bound = bindings(node)
        if isinstance(node, PrimFunc):
            buffers = tuple(node.buffer_map.values())
            declared = tuple(dict.fromkeys((*bound, *buffers)))
            self._push_scope(stack, declared, [node.body])
            return
        if not bound:
            stack += reversed(below)
            return
        if isinstance(node, Let) and self._is_bound_alike(node):
            self._ever.discard(node.var)
        scopes = reflection(type(node)).scopes
        outside = [one for one in below[: len(below) - scopes] if one not in bound]
        realized = getattr(node, "buffer", None)
        if isinstance(realized, Buffer):
            bound = (*bound, realized)
        self._push_scope(stack, bound, below[len(below) - scopes :])
        stack += reversed(outside)

    def _is_bound_alike(self, node: Let) -> bool:
        is_again = node.var in self._values
        before = self._values.setdefault(node.var, node.value)
        is_free = node.var not in self._bound
        return is_again and is_free and expr_deep_equal(before, node.value)

    def _push_scope(
        self, stack: list[Any], bound: tuple[Any, ...], inside: list[Any]
    ) -> None:
        entered = _Enter(bound)
        stack.append(_Leave(entered))
        stack += reversed(inside)
        stack.append(entered)

    def _define(self, var: Any) -> bool:
        known = var in self._bound
        if var in self._ever and isinstance(var, Var):
            self.faults.append(f"variable '{var.name}' is bound more than once")
        if var in self._free:
            self.faults.append(f"variable '{var.name}' is used before it is bound")
        self._ever.add(var)
        self._bound.add(var)
        return not known

    def _use(self, var: Var) -> None:
        if var in self._bound:
            return
        if var in self._ever:
            self.faults.append(f"variable '{var.name}' is used outside of its scope")
        else:
            self._free[var] = None

    def _use_buffer(self, buffer: Buffer) -> None:
        if buffer not in self._bound and buffer.data not in self._bound:
            self._free[buffer] = None


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
