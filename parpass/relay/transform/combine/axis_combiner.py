"""Parallel calls joined along an axis: weights end to end, results cut apart."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from parpass.ir.operators.op_table import Op, OpPattern
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call, Expr, Tuple
from parpass.relay.op import concatenate, expand_dims, repeat, strided_slice
from parpass.relay.transform.combine.parallel_combiner import (
    ParallelCombiner,
    Step,
    tensor_type,
)

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

    def __init__(self, op: Op, min_num_branches: int) -> None:
        super().__init__(op, min_num_branches)
        self._from_end = 1
        self._lengths: list[int] = []

    @abstractmethod
    def place(self, call: Call) -> tuple[int, int]:
        """Return the axis in which results are joined, and the weight's axis for it."""

    @abstractmethod
    def joined_call(self, first: Call, weight: Expr, length: int) -> Expr:
        """Return the call with the joined weight, whose axis has this length."""

    def joined(self, calls: Sequence[Call]) -> Expr:
        """Return the call with all weights end to end."""
        axis, weight_axis = self.place(calls[0])
        results = [_shape(call) for call in calls]
        self._from_end = len(results[0]) - axis
        self._lengths = [shape[axis] for shape in results]
        weight = concatenate(Tuple(tuple(it.args[1] for it in calls)), axis=weight_axis)
        return self.joined_call(calls[0], weight, sum(self._lengths))

    def followed(self, data: Expr, step: Step) -> Expr | None:
        """Return the calls behind as one, their operands joined in the same axis."""
        first = step.calls[0]
        op = cast("Op", first.op)
        if op is _EXPAND_DIMS:
            self._from_end += _new_axes_behind(first, self._from_end)
        elif op.pattern > OpPattern.BROADCAST or not _is_pointwise(first, op):
            return None
        args: list[Expr] = []
        for at in range(len(first.args)):
            operands = [call.args[at] for call in step.calls]
            arg = data if at == step.parent else self._joined_operand(operands)
            if arg is None:
                return None
            args.append(arg)
        return Call(first.op, tuple(args), first.attrs, span=first.span)

    def _joined_operand(self, operands: Sequence[Expr]) -> Expr | None:
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
        return concatenate(Tuple(tuple(fields)), axis=at)

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
