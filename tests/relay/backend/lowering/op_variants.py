"""Generated calls made others: without elements, or of other dtypes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from parpass.errors import DiagnosticError
from parpass.ir.node import post_order
from parpass.relay.expr import Call, Constant, Expr, Function, const
from parpass.relay.functor import ExprMutator
from parpass.relay.type_inference.infer import infer_type
from parpass.runtime.dtypes import converted, numpy_dtype
from tests.support.relay.op.calls import call_of
from tests.support.relay.op.shapes import Built


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


DTYPES = [
    *("float16", "bfloat16", "float32", "float64", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]


def in_dtypes(built: Built) -> Iterator[Call]:
    """Yield a call in each dtype in which it is typed.

    That is of all its constants, of those that have the same dtype, or of each by
    itself; and with each dtype for a result, if an attribute says it.
    """
    call = call_of(built)
    constants = _constants(call)
    same = defaultdict[str, list[Constant]](list)
    for one in constants:
        same[one.data.dtype].append(one)
    groups = [constants, *same.values(), *([one] for one in constants)]
    for some in dict.fromkeys(map(tuple, groups)):
        for dtype in DTYPES:
            changed = _with_constants(call, {one: _cast(one, dtype) for one in some})
            for variant in (changed, *_with_results(changed)):
                if is_typed(variant):
                    yield variant


def _cast(constant: Constant, dtype: str) -> Constant:
    values = constant.data.numpy()
    if values.dtype.kind == "f" and "int" in dtype:
        values = np.rint(values * 3)
    values = values > 0 if dtype == "bool" else converted(values, numpy_dtype(dtype))
    return const(values, dtype)


def _with_results(call: Call) -> Iterator[Call]:
    for field in {"dtype", "out_dtype"} & {
        *getattr(call.attrs, "__struct_fields__", ())
    }:
        for dtype in DTYPES:
            changed = msgspec.structs.replace(call.attrs, **{field: dtype})
            yield Call(call.op, call.args, changed)


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
