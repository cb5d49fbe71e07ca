"""The check that each variable is bound once and used inside its scope.

Inference visits each node once, so it can check this at little cost: a node first
visited inside a scope must not be used after the scope is closed. That is exact for
programs whose scopes share only nodes visited outside of them; for others a second
traversal decides (`analysis.scopes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parpass.ir.node import Node, bindings, post_order
from parpass.relay.adt import Clause
from parpass.relay.analysis.findings import Finding
from parpass.relay.analysis.scopes import uses_out_of_scope
from parpass.relay.expr import Expr, Function, Let, Var


class Scoping:
    """The scopes of a traversal, children first.

    Attributes:
        visited: The nodes since the start of the current scope, except variables; the
            visitor adds to it.
        starts: The number of nodes visited at the start of a scope: of a function or a
            clause, and, by the variable, of a `let`.
        params: The parameters of the functions and the variables of the clauses that
            were entered.
        has_left: Whether a scope was left; from then on the visitor calls `look` for
            the operands of nodes.
        is_suspect: Whether a variable may be bound twice, or used outside its scope.
    """

    __slots__ = (
        "_closed", "_end", "_free", "_start", "_values", "has_left", "is_suspect",
        "params", "starts", "visited",
    )  # fmt: skip

    def __init__(self) -> None:
        self.visited: list[Expr] = []
        self.starts: dict[Expr, int] = {}
        self.has_left = False
        self.is_suspect = False
        self.params: set[Expr] = set()
        self._values: dict[Expr, Expr] = {}  # by the variable of the `let`
        self._free: list[Var] = []  # those that nothing bound before they were used
        self._closed: set[Expr] = set()
        # Scopes that end together, as those of a chain of `let`s, are closed together,
        # and the last ones of a function never.
        self._start = self._end = 0

    def bind(self, var: Var, value: Expr) -> None:
        """Note that a `let` binds a variable; its scope begins where it is visited."""
        if var in self._values or var in self.params:
            self.is_suspect = True
        self._values[var] = value

    def enter(self, scope: Expr, variables: Sequence[Var]) -> None:
        """Note that the scope of parameters, or of a pattern's variables, begins."""
        known = len(self.params)
        self.params.update(variables)
        is_new = len(self.params) == known + len(variables)
        if not is_new or not self._values.keys().isdisjoint(variables):
            self.is_suspect = True
        if self.has_left:
            self.check_uses(())
        self.starts[scope] = len(self.visited)

    def value_of(self, var: Var) -> Expr | None:
        """Return what a `let` binds to a variable that is visited, else None."""
        value = self._values.get(var)
        if value is not None:
            if self.has_left:
                self.check_uses((value,))
            self.starts[var] = len(self.visited)
        elif var not in self.params:
            self._free.append(var)
        return value

    def leave(self, scope: Expr, variables: Sequence[Expr], result: Expr) -> None:
        """Note that all was visited in the scope of variables, `result` inside."""
        if self.has_left and result is not self.visited[-1]:
            self.check_uses((result,))
        start = self.starts.get(scope, 0)
        self._closed.update(variables)
        if start > self._start:
            self._close()
        self._start, self._end, self.has_left = start, len(self.visited), True

    def check_uses(self, used: Iterable[Expr]) -> None:
        """Take notice of what is used now."""
        self._close()
        if not self._closed.isdisjoint(used):
            self.is_suspect = True

    def _close(self) -> None:
        if self._start < self._end:
            self._closed.update(self.visited[self._start : self._end])
            del self.visited[self._start : self._end]
            self._end = self._start

    def free_findings(self) -> list[Finding]:
        """Return the uses of variables that nothing binds, as errors."""
        return [
            Finding(
                var.span, f"variable '{var.name_hint}' is used, and nothing binds it"
            )
            for var in self._free
            if not self._is_bound(var)
        ]

    def _is_bound(self, var: Var) -> bool:
        return var in self._values or var in self.params

    def findings(self, root: Expr) -> list[Finding]:
        """Return what is wrong with the variables that an expression binds.

        Args:
            root: The expression, all of which was visited.
        """
        if not self.is_suspect and not any(map(self._is_bound, self._free)):
            return []
        order = post_order(root)
        binders, found = _binders(order)
        return [*found, *_used_outside(order, binders)]


def bound_again(root: Expr) -> list[Finding]:
    """Return the variables that an expression binds more than once, as errors."""
    return _binders(post_order(root))[1]


def _binders(order: Sequence[Node]) -> tuple[dict[Expr, Node], list[Finding]]:
    """Return what binds each variable, and those that are bound again, as errors."""
    binders: dict[Expr, Node] = {}
    found: list[Finding] = []
    for node in order:
        for var in bindings(node):
            if var in binders:
                found.append(_bound_again(var, binders[var], node))
            binders[var] = node
    return binders, found


def _bound_again(var: Var, first: Node, second: Node) -> Finding:
    message = (
        f"expected variable '{var.name_hint}' to be bound once, "
        f"got it bound by {_shown(first)} and by {_shown(second)}"
    )
    return Finding(getattr(second, "span", None) or var.span, message)


def _used_outside(order: list[Node], binders: dict[Expr, Node]) -> Iterator[Finding]:
    for user, var in uses_out_of_scope(order):
        if var in binders:  # those that nothing binds are reported as free
            yield Finding(
                getattr(user, "span", None) or var.span,
                f"expected variable '{var.name_hint}' to be used inside of what "
                f"binds it, {_shown(binders[var])}, got a use outside",
            )


def _shown(binder: Node) -> str:
    kind = _BINDERS[type(binder)]
    span = getattr(binder, "span", None)
    return f"{kind} at {span}" if span is not None else kind


_BINDERS: dict[type[Node], str] = {
    Let: "a `let`",
    Function: "a function",
    Clause: "a clause",
}
