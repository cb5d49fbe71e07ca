"""Whether a pass leaves the meaning of programs alone, serial and parallel.

The reference is the interpreter. For a pass in its tests, with any module:

    assert_keeps_meaning(MyPass(), mod)            # values and types before and after
    assert_parallel_is_serial(runner, MyPass(), mod)   # `runner`: a fixture
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any, cast

import numpy as np
from hypothesis import assume, currently_in_test_context

from parpass.errors import CallLimitError, DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import FuncType, TensorType, TupleType, Type
from parpass.relay import transform
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import evaluate
from parpass.runner import Runner
from parpass.transform import Pass
from tests.support.relay.op.calls import Array
from tests.support.relay.programs import arguments
from tests.support.runner.pooled import run_pooled

MAX_CALLS = 5_000  # of functions, for a value; some seconds at most


def assert_keeps_meaning(
    a_pass: Pass, mod: IRModule, *, rtol: float = 0.0, atol: float = 0.0
) -> IRModule:
    """Run a pass on a module with types, compare, and return the result.

    The result must be well-formed and well-typed; functions that are still there have
    the types they had, and give the same values on the same arguments, to the bit if no
    tolerance is given. Functions that take or return functions are not called from
    outside.

    Args:
        a_pass: The pass.
        mod: The module, with or without types.
        rtol: The relative difference to allow, for a pass that computes differently.
        atol: The absolute one.
    """
    before = transform.InferType()(mod)
    with _refusals_of_well_formed_programs(before):
        after = transform.InferType()(a_pass(before))
    assert well_formed(after)
    assert_same_meaning(before, after, rtol=rtol, atol=atol)
    return after


def assert_same_meaning(
    before: IRModule, after: IRModule, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Compare the functions of two modules with types that are in both.

    See `assert_keeps_meaning`. Functions that are not Relay's are left out.
    """
    for name, function in before.functions_by_name.items():
        if name not in after or not isinstance(function, Function):
            continue
        assert after[name].checked_type == function.checked_type
        if not is_first_order(function):
            continue
        for args in (arguments(function), arguments(function, extreme=True)):
            expected = flattened(_value_soon(function, args, before))
            got = flattened(evaluate(after[name], args, after))
            for one, other in zip(got, expected, strict=True):
                if not rtol and not atol:
                    assert_same_bits(one, other)
                    continue
                one, other = (side.astype("float64") for side in (one, other))
                np.testing.assert_allclose(one, other, rtol, atol, strict=True)
            if rtol or atol:
                break  # at the ends of a dtype rounding knows no bounds


@contextlib.contextmanager
def _refusals_of_well_formed_programs(mod: IRModule) -> Generator[None]:
    """Let only those errors of a pass out that a well-formed program meets.

    In a generated program several blocks may use one call with an effect, rarely.
    """
    try:
        yield
    except DiagnosticError:
        assume(well_formed(mod) or not currently_in_test_context())
        raise


def _value_soon(function: Function, args: list[Any], mod: IRModule) -> Any:
    """Return a value, but for a generated program that takes very long to end.

    A closure that calls its argument thrice, nested a dozen times, is a short program.
    """
    try:
        return evaluate(function, args, mod, max_calls=MAX_CALLS)
    except CallLimitError:
        assume(not currently_in_test_context())
        raise


def assert_same_bits(one: Array, other: Array) -> None:
    """Compare values to the bit, but for which NaN a NaN is."""
    assert one.dtype == other.dtype
    if one.dtype.kind in "fV":
        one, other = (side.astype("float64") for side in (one, other))
        signs = [np.signbit(side[~np.isnan(side)]) for side in (one, other)]
        np.testing.assert_array_equal(signs[0], signs[1])
    np.testing.assert_array_equal(one, other, strict=True)


def assert_parallel_is_serial(runner: Runner, a_pass: Pass, mod: IRModule) -> None:
    """Compare what workers make of a module with what the pass makes in process.

    Structure, order, types and text must be the same.
    """
    before = transform.InferType()(mod)
    serial, parallel = a_pass(before), run_pooled(runner, a_pass, before)
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert list(parallel.functions_by_name) == list(serial.functions_by_name)
    assert parallel.astext() == serial.astext()
    assert checked_types(parallel) == checked_types(serial)


def is_first_order(function: Function) -> bool:
    """Return whether a function with types takes and gives tensors only."""
    found = function.checked_type
    assert isinstance(found, FuncType)
    # Parameters that are tuples would need arguments that nobody generates.
    return all(isinstance(arg, TensorType) for arg in found.arg_types) and _has_no(
        FuncType, found.ret_type
    )


def flattened(value: Any) -> list[Any]:
    """Return the arrays of a value, tuple by tuple."""
    if isinstance(value, tuple):
        fields = cast("tuple[Any, ...]", value)
        return [array for field in fields for array in flattened(field)]
    return [value]


def _has_no(kind: type[Type], found: Type) -> bool:
    if isinstance(found, TupleType):
        return all(_has_no(kind, field) for field in found.fields)
    return not isinstance(found, kind)


def checked_types(mod: IRModule) -> list[list[Any]]:
    """Return the types that the nodes of each function have, in post-order."""
    return [
        [getattr(node, "checked_type_", None) for node in post_order(function)]
        for function in mod.functions_by_name.values()
    ]
