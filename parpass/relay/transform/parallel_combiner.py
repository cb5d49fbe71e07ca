"""Joins parallel calls: calls of one operator on the same data become one call.

The base of CombineParallelConv2D, CombineParallelDense and CombineParallelBatchMatmul:
which calls are joined, how far the elementwise calls after them are joined too, and
what replaces them. `AxisCombiner` joins along an axis: weights are concatenated, and
results sliced.

Calls are joined only within one scope, and only if nothing but the data depends on
joined calls: weights that did could close a cycle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order, users_of
from parpass.ir.op.op_table import Op, OpPattern
from parpass.ir.types import TensorType
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.analysis.operator_names import has_operator
from parpass.relay.analysis.scopes import ScopeTree
from parpass.relay.expr import Call, Expr, Function, Tuple
from parpass.relay.functor import ExprMutator
from parpass.relay.op import concatenate, expand_dims, repeat, strided_slice
from parpass.relay.span_filler import with_span
from parpass.relay.type_inference.infer import typed_function
from parpass.transform import FunctionPass, PassContext

Branch = list[Call]


class ParallelCalls(NamedTuple):
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
        min_num_branches: Fewer calls than these are left alone.

    Attributes:
        op: The operator.
    """

    op: ClassVar[Op]

    def __init__(self, min_num_branches: int) -> None:
        self.min_num_branches = min_num_branches

    @abstractmethod
    def key(self, call: Call) -> Hashable | None:
        """Return what calls on the same data agree in that go together.

        None means that a call goes with no other.
        """

    @abstractmethod
    def joined(self, calls: Sequence[Call]) -> Expr:
        """Return the call that does what several do; the first of a group."""

    def followed(self, data: Expr, step: ParallelCalls) -> Expr | None:
        """Return `data` with the calls of a step joined, None if they cannot be."""
        first = step.calls[0]
        if not self.follows(first, cast("Op", first.op)):
            return None
        args: list[Expr] = []
        for at in range(len(first.args)):
            operands = [call.args[at] for call in step.calls]
            arg = data if at == step.parent else self.joined_operand(operands)
            if arg is None:
                return None
            args.append(arg)
        return Call(first.op, tuple(args), first.attrs, span=first.span)

    @abstractmethod
    def follows(self, call: Call, op: Op) -> bool:
        """Return whether calls such as this one may be joined behind joined calls."""

    @abstractmethod
    def joined_operand(self, operands: Sequence[Expr]) -> Expr | None:
        """Return the other operands of calls behind as one, None if they cannot be."""

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
            self._remark("passed", "Combined", "combined calls of the same data", calls)
        if not replaced:
            return function, 0
        result = _Substitution(replaced).visit(function)
        return result, len(replaced)

    def _remark(
        self, kind: str, name: str, message: str, calls: Sequence[Call]
    ) -> None:
        values: dict[str, Any] = {"op": self.op.name, "calls": len(calls)}
        context = PassContext.current()
        context.remark(kind, message, calls[0].span, name=name, **values)

    def _groups(self, graph: _Graph) -> list[list[Call]]:
        found: dict[Hashable, list[Call]] = {}
        for node in graph.order:
            if isinstance(node, Call) and node.op is self.op:
                key = self.key(node)
                if key is not None:
                    place = (node.args[0], graph.scopes.around[node], key)
                    found.setdefault(place, []).append(node)
        wide = [calls for calls in found.values() if self._is_enough(calls)]
        for calls in found.values():
            if 1 < len(calls) < self.min_num_branches:
                why = "not combined: fewer calls than min_num_branches"
                self._remark("missed", "NotCombined", why, calls)
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
        typed = typed_function(func, mod)
        combiner = self._combiner_type()(self.min_num_branches)
        if not has_operator(typed, {combiner.op.name}, ctx):
            return typed
        result, count = combiner.run(typed)
        if count:
            ctx.count("combined", count)
        return result

    @abstractmethod
    def _combiner_type(self) -> type[ParallelCombiner]:
        """Return the class of what joins the calls of one function."""


class _Graph:
    """A function's nodes with their users, scopes and dependences."""

    def __init__(self, function: Function) -> None:
        self.order = cast("list[Expr]", post_order(function))
        self.scopes = ScopeTree(self.order)
        self._users = users_of(self.order)
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


def _step(
    calls: list[Call], before: Sequence[Call], graph: _Graph
) -> ParallelCalls | None:
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
    return ParallelCalls(calls, parent)


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


_EXPAND_DIMS = Op.get("expand_dims")


class AxisCombiner(ParallelCombiner):
    """Joins the results of calls along an axis: channels, units, columns.

    The axis is counted from the end, where broadcasting aligns shapes, and followed
    through the calls behind.
    """

    # Whether an argument that has one element along the axis is repeated; else the
    # calls behind it are not joined.
    repeats_one = False
    # Whether the axes of an operand's concatenation count from the end.
    counts_from_end = False
    # Whether a slice lists the axes behind the cut as well.
    slices_all_axes = True

    def __init__(self, min_num_branches: int) -> None:
        super().__init__(min_num_branches)
        self._from_end = 1
        self._lengths: list[int] = []

    @abstractmethod
    def place(self, call: Call) -> tuple[int, int]:
        """Return the axis in which results are joined, and the weight's axis for it."""

    def joined_attrs(self, attrs: Any, length: int) -> Any:
        """Return the attributes for a joined weight, whose axis has this length."""
        del length
        return attrs

    def joined(self, calls: Sequence[Call]) -> Expr:
        """Return the call with all weights end to end."""
        axis, weight_axis = self.place(calls[0])
        results = [_shape(call) for call in calls]
        self._from_end = len(results[0]) - axis
        self._lengths = [shape[axis] for shape in results]
        first, weights = calls[0], tuple(it.args[1] for it in calls)
        weight = concatenate(Tuple(weights), axis=weight_axis)
        weight = with_span(weight, first.span, weights)
        attrs = self.joined_attrs(first.attrs, sum(self._lengths))
        return Call(first.op, (first.args[0], weight), attrs, span=first.span)

    def follows(self, call: Call, op: Op) -> bool:
        """Return whether calls keep the axis; where they add axes, it is followed."""
        if op is _EXPAND_DIMS:
            self._from_end += _new_axes_behind(call, self._from_end)
            return True
        return op.pattern <= OpPattern.BROADCAST and _is_pointwise(call, op)

    def joined_operand(self, operands: Sequence[Expr]) -> Expr | None:
        """Return operands end to end in the same axis."""
        types = [tensor_type(operand) for operand in operands]
        rank = len(types[0].shape) if types[0] else 0
        axis = max(rank - self._from_end, 0)
        if not _are_alike(types, axis) or not self._reaches(rank):
            return None
        fields: list[Expr] = []
        for operand, found, length in zip(operands, types, self._lengths, strict=True):
            shape = cast("TensorType", found).shape
            if shape and shape[axis] == length:
                fields.append(operand)
            elif self.repeats_one and (not shape or shape[axis] == 1):
                one = operand if shape else expand_dims(operand, -1)
                fields.append(repeat(one, length, axis))
            else:
                return None
        at = axis - rank if self.counts_from_end else axis
        joined = concatenate(Tuple(tuple(fields)), axis=at)
        return with_span(joined, getattr(operands[0], "span", None), operands)

    def _reaches(self, rank: int) -> bool:
        """Return whether an operand of a rank has the axis, or may be given it."""
        is_scalar = self.repeats_one and rank == 0 and self._from_end == 1
        return is_scalar or rank >= self._from_end

    def parts(self, data: Expr, last: Sequence[Call]) -> list[Expr]:
        """Return slices of the joined result."""
        rank = len(_shape(last[0]))
        axis = rank - self._from_end
        count = rank if self.slices_all_axes else axis + 1
        parts: list[Expr] = []
        starts = accumulate(self._lengths[:-1], initial=0)
        for start, length, call in zip(starts, self._lengths, last, strict=True):
            begin, end = [0] * count, [-1] * count
            begin[axis], end[axis] = start, length
            part = strided_slice(data, begin, end, [1] * count, slice_mode="size")
            parts.append(Call(part.op, part.args, part.attrs, span=call.span))
        return parts


def _is_pointwise(call: Call, op: Op) -> bool:
    """Return whether shapes are aligned at the end, whatever attributes say."""
    return op.pattern == OpPattern.ELEMWISE or call.attrs is None


def _new_axes_behind(call: Call, from_end: int) -> int:
    rank = len(_shape(call.args[0]))
    at = call.attrs.axis % (rank + 1)
    return call.attrs.num_newaxis if at > rank - from_end else 0


def _are_alike(types: Sequence[TensorType | None], axis: int) -> bool:
    """Return whether tensors differ along an axis at most."""
    if None in types:
        return False
    known = cast("Sequence[TensorType]", types)
    keys = {(it.dtype, it.shape[:axis], it.shape[axis + 1 :]) for it in known}
    return len(keys) == 1 and len({len(it.shape) for it in known}) == 1


def _shape(expr: Expr) -> tuple[int, ...]:
    return cast("TensorType", expr.checked_type).concrete_shape
