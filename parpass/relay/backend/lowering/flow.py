"""What a kernel computes of what: which operators are behind one, and where."""

from __future__ import annotations

from collections import defaultdict

from parpass.ir.node import children, post_order
from parpass.ir.operators.op_table import Op, OpPattern
from parpass.relay.backend.lowering.template import injective_rule
from parpass.relay.expr import Call, Expr, Function, Tuple

_LONGEST = 50  # operators behind one whose results they take as they come


class Flow:
    """The data flow of a primitive function.

    Attributes:
        order: Its expressions, each behind what it is computed of.
    """

    def __init__(self, function: Function) -> None:
        nodes = post_order(function.body)
        self.order = [
            one for one in nodes if isinstance(one, Expr) and not isinstance(one, Op)
        ]
        self._body = function.body
        self._users: dict[Expr, list[Expr]] = defaultdict(list)
        for node in self.order:
            for child in children(node):
                if isinstance(child, Expr):
                    self._users[child].append(node)

    def behind(self, call: Call) -> dict[Expr, None]:
        """Return a call, and all that comes of it."""
        found: dict[Expr, None] = {call: None}
        waiting: list[Expr] = [call]
        while waiting:
            for user in self._users[waiting.pop()]:
                if user not in found:
                    found[user] = None
                    waiting.append(user)
        return found

    def ends_elementwise(self, call: Call) -> bool:
        """Return whether all behind a call goes on with its elements where they are."""
        behind = self.behind(call)
        rest = [one for one in behind if one is not call]
        if isinstance(self._body, Tuple) and self._body in behind:
            rest.remove(self._body)
        shape = _shape(call)
        return len(rest) < _LONGEST and all(
            _goes_on(one, behind, shape) for one in rest
        )


def op_of(call: Call) -> Op:
    """Return the operator that a call in a kernel is of."""
    assert isinstance(call.op, Op)
    return call.op


def _shape(expr: Expr) -> object:
    return getattr(expr.checked_type, "shape", None)


def _goes_on(node: Expr, behind: dict[Expr, None], shape: object) -> bool:
    """Return whether the elements of a node are where those are that it takes."""
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return False
    if node.op.pattern > OpPattern.BROADCAST or injective_rule(node.op.name) is None:
        return False
    taken = [arg for arg in node.args if arg in behind]
    return all(_shape(one) == shape for one in (node, *taken))
