"""Generated calls with some of their constants made others: without elements."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from parpass.errors import DiagnosticError
from parpass.ir.node import post_order
from parpass.relay.expr import Call, Constant, Expr, Function, TupleWrapper, const
from parpass.relay.functor import ExprMutator
from parpass.relay.typing.infer import infer_type
from tests.support.op_shapes import Built


def call_of(built: Built) -> Call:
    """Return a call without the wrapper that unpacks its result."""
    call = built.astuple() if isinstance(built, TupleWrapper) else built
    assert isinstance(call, Call)
    return call


def is_typed(call: Call) -> bool:
    """Return whether the operator's relation takes a call."""
    try:
        infer_type(Function((), call))
    except DiagnosticError:
        return False
    return True


class _Axis(NamedTuple):
    constant: Constant
    axis: int
    length: int


def without_elements(built: Built) -> Iterator[Call]:
    """Yield a call with lengths of its constants made 0, where it is typed so.

    That is one length, two equal ones, or all that are equal: dimensions that go with
    each other are as long as each other.
    """
    call = call_of(built)
    axes = [
        _Axis(one, axis, int(length))
        for one in _constants(call)
        for axis, length in enumerate(one.data.shape)
    ]
    equal = defaultdict[int, list[_Axis]](list)
    for one in axes:
        equal[one.length].append(one)
    pairs = itertools.combinations(axes, 2)
    for chosen in (
        *([one] for one in axes),
        *([one, other] for one, other in pairs if one.length == other.length),
        *(some for some in equal.values() if len(some) > 2),
    ):
        changed = _with_constants(call, _emptied(chosen))
        if is_typed(changed):
            yield changed


def _emptied(axes: Sequence[_Axis]) -> dict[Constant, Constant]:
    found: dict[Constant, Constant] = {}
    for constant, axis, _ in axes:
        shape = list(found.get(constant, constant).data.shape)
        shape[axis] = 0
        found[constant] = const(np.zeros(shape, constant.data.dtype))
    return found


def _constants(call: Call) -> list[Constant]:
    return [one for one in post_order(call) if isinstance(one, Constant)]


def _with_constants(call: Call, others: Mapping[Constant, Constant]) -> Call:
    changed = _Changed(others).visit(call)
    assert isinstance(changed, Call)
    return changed


class _Changed(ExprMutator):
    def __init__(self, others: Mapping[Constant, Constant]) -> None:
        super().__init__()
        self._others = others

    def visit_constant(self, const: Constant) -> Expr:
        return self._others.get(const, const)
