"""Calls of one operator on the same data, joined into one call.

What the passes CombineParallelConv2D, CombineParallelDense and
CombineParallelBatchMatmul share: which calls go together, how far the elementwise
calls behind them go along, and what takes their places.

Calls go together only within one scope, and only if nothing but the data depends on
calls that are joined: weights that did could close a circle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType
from parpass.relay.analysis.scopes import ScopeTree
from parpass.relay.analysis.static_types import static_tensor
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext

Branch = list[Call]


class Step(NamedTuple):
    """Calls of one operator, one for each branch, that may become one call.

    Attributes:
        calls: The calls.
        parent: Which argument comes from the step before.
    """

    calls: Sequence[Call]
    parent: int


class ParallelCombiner(ABC):
    """Joins parallel calls of an operator in one function.

    Args:
        op: The operator.
        min_num_branches: Fewer calls than these are left alone.
    """

    def __init__(self, op: Op, min_num_branches: int) -> None:
        self.op = op
        self.min_num_branches = min_num_branches

    @abstractmethod
    def key(self, call: Call) -> Hashable | None:
        """Return what calls on the same data agree in that go together.

        None means that a call goes with no other.
        """

    @abstractmethod
    def joined(self, calls: Sequence[Call]) -> Expr:
        """Return the call that does what several do; the first of a group."""

    @abstractmethod
    def followed(self, data: Expr, step: Step) -> Expr | None:
        """Return `data` with the calls of a step joined, None if they cannot be."""

    @abstractmethod
    def parts(self, data: Expr, last: Sequence[Call]) -> list[Expr]:
        """Return what takes the places of the last calls of all branches."""

    def run(self, function: Function) -> tuple[Function, int]:
        """Return a typed function with calls joined, and how many there were."""
        graph = _Graph(function)
        replaced: dict[Expr, Expr] = {}
        for calls in self._groups(graph):
            branches = [graph.branch_from(call) for call in calls]
            self._join(branches, graph, replaced)
        if not replaced:
            return function, 0
        result = _Substitution(replaced).visit(function)
        return result, len(replaced)

    def _groups(self, graph: _Graph) -> list[list[Call]]:
        found: dict[Hashable, list[Call]] = {}
        for node in graph.order:
            if isinstance(node, Call) and node.op is self.op:
                key = self.key(node)
                if key is not None:
                    place = (node.args[0], graph.scopes.around[node], key)
                    found.setdefault(place, []).append(node)
        wide = [calls for calls in found.values() if self._is_enough(calls)]
        graph.mark_dependent({call for calls in wide for call in calls})
        free = [[it for it in calls if graph.is_free(it.args[1:])] for calls in wide]
        return [calls for calls in free if self._is_enough(calls)]

    def _is_enough(self, calls: Sequence[Call]) -> bool:
        return len(calls) >= max(2, self.min_num_branches)

    def _join(
        self, branches: Sequence[Branch], graph: _Graph, replaced: dict[Expr, Expr]
    ) -> None:
        last = [branch[0] for branch in branches]
        data = self.joined(last)
        for depth in range(1, min(map(len, branches))):
            step = _step([branch[depth] for branch in branches], last, graph)
            further = None if step is None else self.followed(data, step)
            if step is None or further is None:
                break
            data, last = further, list(step.calls)
        replaced.update(zip(last, self.parts(data, last), strict=True))


class CombiningPass(FunctionPass):
    """A pass that joins parallel calls of an operator.

    Args:
        min_num_branches: Fewer calls than these are left alone.
    """

    def __init__(self, min_num_branches: int = 3) -> None:
        self.min_num_branches = min_num_branches

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with parallel calls joined."""
        result, count = self._combiner().run(typed_function(func, mod))
        if count:
            ctx.count("combined", count)
        return result

    @abstractmethod
    def _combiner(self) -> ParallelCombiner:
        """Return what joins the calls of one function."""


class _Graph:
    """A function's nodes with their users, scopes and dependences."""

    def __init__(self, function: Function) -> None:
        self.order = cast("list[Expr]", post_order(function))
        self.scopes = ScopeTree(self.order)
        self._users: dict[Expr, list[Expr]] = {}
        for node in self.order:
            for child in children(node):
                self._users.setdefault(child, []).append(node)
        self._dependent: set[Expr] = set()

    def branch_from(self, call: Call) -> Branch:
        """Return a call and those behind it that alone use the one before."""
        branch = [call]
        around = self.scopes.around
        while True:
            users = self._users.get(branch[-1], [])
            if len(users) != 1 or not isinstance(users[0], Call):
                return branch
            if not isinstance(users[0].op, Op) or around[users[0]] is not around[call]:
                return branch
            branch.append(users[0])

    def mark_dependent(self, calls: set[Call]) -> None:
        """Note what depends on some calls."""
        self._dependent = set[Expr](calls)
        for node in self.order:
            if any(child in self._dependent for child in children(node)):
                self._dependent.add(node)

    def is_free(self, exprs: Sequence[Expr]) -> bool:
        """Return whether nothing among some expressions depends on the noted calls."""
        return self._dependent.isdisjoint(exprs)


def _step(calls: list[Call], before: Sequence[Call], graph: _Graph) -> Step | None:
    """Return calls as one step, if they are alike but for their other arguments."""
    first = calls[0]
    parent = first.args.index(before[0]) if before[0] in first.args else -1
    for call, parent_call in zip(calls, before, strict=True):
        alike = call.op is first.op and call.attrs == first.attrs
        if not alike or len(call.args) != len(first.args) or parent < 0:
            return None
        others = (*call.args[:parent], *call.args[parent + 1 :])
        if call.args[parent] is not parent_call or not graph.is_free(others):
            return None
    return Step(calls, parent)


class _Substitution(ExprMutator):
    def __init__(self, replaced: Mapping[Expr, Expr]) -> None:
        super().__init__()
        self._replaced = replaced

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        new = self._replaced.get(expr)
        return super().visited_before(expr) if new is None else (new,)

    def visit_call(self, call: Call) -> Expr:
        new = self._replaced.get(call)
        return super().visit_call(call) if new is None else self.visit(new)


def tensor_type(expr: Expr) -> TensorType | None:
    """Return the type of an expression if it is a tensor of a known shape."""
    return static_tensor(expr.checked_type)
