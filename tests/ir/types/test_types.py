from __future__ import annotations

import gc
from typing import Any, cast

import numpy as np
import pytest

from parpass import relay, save_json, te, tir
from parpass.diagnostic import SourceName, Span
from parpass.errors import IRTypeError
from parpass.ir.adt import GlobalTypeVar, TypeData
from parpass.ir.types import PrimType, TensorType, tensor_type
from parpass.runtime.dtypes import DTYPES

TENSOR = relay.TensorType((2, 3), "float32")


def test_types_are_compared_by_structure():
    assert relay.TensorType([2, 3], "float32") == TENSOR  # pyright: ignore[reportArgumentType]
    assert relay.TensorType((2, 3), "int32") != TENSOR
    assert hash(relay.TupleType((TENSOR,))) == hash(relay.TupleType((TENSOR,)))
    assert relay.TensorType((relay.Any(),)) == relay.TensorType((relay.Any(),))


def test_types_that_are_equal_are_not_unequal():
    def kinds() -> list[relay.Type]:
        tensor = relay.TensorType((2,), "float32")
        function = relay.FuncType((tensor,), tensor)
        return [tensor, relay.TupleType((tensor,)), function]

    for one, same in zip(kinds(), kinds(), strict=True):
        assert one == same
        assert not (one != same)  # noqa: SIM202 -- it is what is asked


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (TENSOR, "Tensor[(2, 3), float32]"),
        (relay.TensorType((1,)), "Tensor[(1,), float32]"),
        (relay.scalar_type("bool"), "bool"),
        (relay.TensorType((relay.Any(), 2)), "Tensor[(?, 2), float32]"),
        (relay.TupleType((TENSOR, relay.scalar_type())), f"({TENSOR}, float32)"),
        (relay.TupleType((relay.scalar_type(),)), "(float32,)"),
        (relay.FuncType((TENSOR,), TENSOR), f"fn ({TENSOR}) -> {TENSOR}"),
        (
            relay.FuncType((relay.TypeVar("a"),), TENSOR, (relay.TypeVar("a"),)),
            f"fn <a>(a) -> {TENSOR}",
        ),
    ],
)
def test_types_print_as_relay_prints_them(type_: relay.Type, text: str):
    assert str(type_) == text


def test_a_concrete_shape_has_no_unknown_dimension():
    assert TENSOR.concrete_shape == (2, 3)
    with pytest.raises(IRTypeError, match="static shape"):
        _ = relay.TensorType((relay.Any(), 2)).concrete_shape


def test_tensor_type_takes_any_sequence():
    assert tensor_type([2, 3]) == TENSOR


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((-1, 2), "float32", "from 0 on, or Any.*, for a dimension, got -1"),
        ((2**63,), "float32", "an int of 64 bits from 0 on"),
        ((2.5,), "float32", "got 2.5"),
        (("2",), "float32", "got '2'"),
        ((2,), "flaot32", "a dtype for a tensor: no dtype named 'flaot32'"),
        ((2,), "float32x1", "no dtype named 'float32x1'"),
        ((2,), object(), "no dtype is <object"),
        ((2,), str, "no dtype named 'str"),
    ],
)
def test_a_tensor_of_no_such_shape_or_dtype_is_refused(
    shape: Any, dtype: Any, message: str
):
    with pytest.raises(IRTypeError, match=message):
        relay.TensorType(shape, dtype)


def test_dimensions_and_dtypes_have_one_full_form():
    shape: Any = (np.int64(2), True)
    found = relay.TensorType(shape, cast("str", np.dtype("int8")))
    assert [type(dim) for dim in found.shape] == [int, int]
    assert (found.shape, found.dtype) == ((2, 1), "int8")
    assert relay.TensorType((), "float") == relay.TensorType((), "float32")
    assert relay.TensorType((), "int").dtype == "int32"
    assert relay.TensorType((2**63 - 1,)).shape == (2**63 - 1,)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_each_dtype_of_the_text_format_is_one_of_tensors(dtype: str):
    tensor = relay.TensorType((2,), dtype)
    assert tensor.dtype == dtype
    function = relay.parse_expr(f"fn (%x: {tensor}) {{ %x }}")
    assert isinstance(function, relay.Function)
    assert function.params[0].type_annotation == tensor


def test_a_function_type_has_no_constraints_unless_some_are_given():
    typ = relay.FuncType([], relay.TensorType(()), [], [])
    assert typ == relay.FuncType((), relay.TensorType(()))
    assert typ.type_constraints == ()
    assert relay.FuncType([], relay.TensorType(()), None, None) == typ
    assert '"type_constraints"' not in save_json(typ)
    odd = relay.FuncType([], relay.TensorType(()), [], [relay.TensorType(())])
    with pytest.raises(IRTypeError, match="of kind Constraint"):
        relay.analysis.check_kind(odd)


def test_a_dimension_that_is_an_expression_is_not_known():
    n = te.var("n")
    expected = relay.TensorType((relay.Any(), 2, relay.Any(), 4))
    assert relay.TensorType((n, 2, n * 2, tir.IntImm("int32", 4))) == expected  # pyright: ignore[reportArgumentType]
    with pytest.raises(IRTypeError, match="expected an int of 64 bits"):
        relay.TensorType((tir.Var("x", "float32"),))  # pyright: ignore[reportArgumentType]


def test_a_type_has_no_place_but_a_definition() -> None:
    assert TensorType((2,)).span is None
    place = Span(SourceName("text"), 1, 1, 1, 2)
    assert TypeData(GlobalTypeVar("Unit"), [], [], place).span is place


def test_the_collector_passes_over_tensor_types_and_what_holds_nothing_else() -> None:
    place = Span(SourceName("text"), 1, 1, 1, 2)
    held = [(TENSOR, relay.TensorType((relay.Any(),))), (PrimType("int8"), place)]
    gc.collect()  # it finds out, of tuples
    assert not any(gc.is_tracked(part) for pair in held for part in (pair, *pair))
