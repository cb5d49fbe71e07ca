"""Loop expressions check their dtypes, and know their own."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from parpass import (
    IRModule,
    convert,
    get_global_func,
    relay,
    structural_equal,
    structural_hash,
    tir,
)
from parpass.errors import IRTypeError
from parpass.ir.types import PointerType, PrimType
from parpass.tir.arith import Analyzer
from parpass.tir.data_type import data_type, wrapped
from parpass.tir.expr import constant_int, is_true


def test_a_dtype_says_code_bits_and_lanes():
    assert data_type("float16x8") == ("float", 16, 8)
    assert data_type("bool") == ("bool", 1, 1)
    assert data_type("handle").code == "handle"
    assert data_type("int32x4").element == "int32"
    assert data_type("bool").with_lanes(4) == "uint1x4"


@pytest.mark.parametrize("name", ["", "in32", "int65", "float33", "int32x0", "x4"])
def test_what_is_no_dtype_is_refused(name: str):
    if name:
        with pytest.raises(IRTypeError, match="expected a dtype such as"):
            data_type(name)
    else:
        assert data_type(name).code == "void"


def test_ints_wrap_around():
    assert wrapped(1 << 31, "int32") == -(1 << 31)
    assert wrapped(-1, "uint8") == 255
    assert wrapped(-1, "uint64") == (1 << 64) - 1


def test_a_variable_has_the_dtype_of_its_type():
    pointer: Any = PointerType(PrimType("float32"))
    assert tir.Var("x", "float32").dtype == "float32"
    assert tir.Var("p", pointer).dtype == "handle"
    assert tir.Var("p", pointer).type_annotation == pointer
    assert tir.SizeVar("n").dtype == "int32"


def test_dtypes_follow_from_operands():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert tir.Add(x, y).dtype == "int32"
    assert tir.LT(x, y).dtype == "bool"
    assert tir.Ramp(x, 1, 4).dtype == "int32x4"
    assert tir.LT(tir.Ramp(x, 1, 4), tir.Broadcast(y, 4)).dtype == "uint1x4"
    assert tir.Not(tir.LT(x, y)).dtype == "bool"
    assert tir.Let(x, 1, tir.Cast("float32", x)).dtype == "float32"
    vectors = (tir.Ramp(x, 1, 4), tir.Broadcast(y, 2))
    assert tir.Shuffle(vectors, (0, 5, 2)).dtype == "int32x3"
    assert tir.Select(tir.LT(x, y), 1.0, 2.0).dtype == "float32"


def test_numbers_become_constants():
    assert isinstance(tir.Add(1, 2).a, tir.IntImm)
    assert tir.Select(tir.const(True), 1.0, 2.0).true_value.dtype == "float32"
    call = tir.call_extern("int32", "f", 1, "text")
    assert [one.dtype for one in call.args] == ["handle", "int32", "handle"]


X = tir.Var("x", "int32")
F = tir.Var("f", "float32")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tir.Add(X, F), "mismatched types.*int32 and float32"),
        (lambda: tir.And(X, X), "expected a bool for And, got int32"),
        (lambda: tir.Not(F), "expected a bool for Not"),
        (lambda: tir.Select(X, X, X), "expected a bool for Select"),
        (lambda: tir.Cast("int32x4", X), "with the lanes of int32"),
        (lambda: tir.Ramp(X, 1, 1), "expected 2 to 65535 lanes"),
        (lambda: tir.Ramp(tir.Ramp(X, 1, 2), tir.Ramp(X, 1, 2), 2), "scalar"),
        (lambda: tir.Broadcast(X, 0), "lanes"),
        (lambda: tir.Let(X, 1.0, X), "expected a value of int32 for variable 'x'"),
        (lambda: tir.Shuffle((), ()), "Shuffle"),
        (lambda: tir.IntImm("int8", 128), "expected a value that int8 has, got 128"),
        (lambda: tir.IntImm("float32", 1), "expected a scalar dtype of ints"),
        (lambda: tir.FloatImm("int32", 1), "expected a scalar dtype of floats"),
        (lambda: tir.FloatImm("float32", cast("Any", "1")), "expected a number for"),
        (lambda: tir.const([1], "float32"), "expected a number for a constant"),
        (lambda: tir.const("1", "int32"), "expected a number for a constant of int32"),
        (lambda: tir.const(math.nan, "int8"), "expected a number for a constant of"),
        (lambda: tir.FloatImm("float32", 10**400), "expected a number for a constant"),
        (lambda: tir.Call("int32", 3, ()), "expected an operator, its name"),
        (
            lambda: tir.Load("int32", cast("Any", F + 1), 0),
            "expected a tir.Var in Load, got Add",
        ),
        (lambda: tir.Add(X, None), "expected a loop expression or a number"),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, message: str):
    with pytest.raises(IRTypeError, match=message):
        build()


def test_memory_is_accessed_by_as_many_lanes_as_asked_for():
    buffer = tir.decl_buffer((16,), "float32", "A")
    assert buffer.data.dtype == "handle"
    assert tir.Load("float32x4", buffer.data, tir.Ramp(X, 1, 4)).dtype == "float32x4"
    assert str(
        tir.Load("float32x4", buffer.data, tir.Ramp(X, 1, 4)).predicate.dtype
    ) == ("uint1x4")
    with pytest.raises(IRTypeError, match="expected an index and a predicate"):
        tir.Load("float32x4", buffer.data, X)


def test_a_buffer_is_loaded_from_and_stored_to_by_its_indices():
    buffer = tir.decl_buffer((4, tir.Var("n", "int32")), "float16", "A")
    assert tir.BufferLoad(buffer, (X, 1)).dtype == "float16"
    assert buffer.vload((X, 0)).dtype == "float16"
    assert isinstance(buffer.vstore((0, X), tir.const(1, "float16")), tir.Store)
    assert buffer.scope() == "global"
    with pytest.raises(IRTypeError, match="expected 2 indices for buffer 'A', got 1"):
        tir.BufferLoad(buffer, (X,))
    with pytest.raises(IRTypeError, match="expected indices of ints"):
        tir.BufferLoad(buffer, (X, F))
    with pytest.raises(IRTypeError, match="expected a pointer to float32"):
        tir.Buffer(tir.Var("p", "handle"), "float32", (1,))


def test_an_auto_broadcast_buffer_has_strides_of_its_own():
    buffer = tir.decl_buffer((4, 4), buffer_type="auto_broadcast")
    assert [stride.name for stride in buffer.strides] == ["stride", "stride"]
    assert tir.decl_buffer((4,), offset_factor=2).elem_offset.name == (
        "buffer_elem_offset"
    )


def test_a_pointer_to_a_buffer_says_what_may_be_done():
    call = tir.decl_buffer((4, 8), name="A").access_ptr("rw", offset=2)
    assert call.op.name == "tir.tvm_access_ptr"
    assert [one.value for one in call.args[2:]] == [2, 30, 3]


def test_a_variable_has_a_name():
    name: Any = 1
    with pytest.raises(IRTypeError, match="expected a string for a variable's name: 1"):
        tir.Var(name, "int32")


def test_what_nothing_is_known_of_is_equal_to_itself_alone_where_it_is_computed():
    one, other = tir.Any(), tir.Any()
    analyzer = Analyzer()
    assert isinstance(analyzer.simplify(one - other), tir.Sub)
    assert structural_equal(analyzer.simplify(one - one), 0)
    buffer = tir.decl_buffer((tir.Any(), 4), name="A")
    mod = IRModule({"main": tir.PrimFunc([buffer], buffer.vstore((0, 0), 1.0))})
    assert structural_equal(relay.parse(mod.astext()), mod)


def test_a_reduction_may_be_made_before_it_is_said_how():
    axis = tir.IterVar((0, 4), "x", tir.IterVar.CommReduce)
    made = tir.Reduce(None, [1], [axis], None, 0)
    assert made.combiner is None
    assert Analyzer().simplify(made) is made
    assert str(made).startswith("reduce(None, [], [IterVar(x: int32, ")


def test_all_expressions_are_in_the_module_of_expressions():
    assert {*dir(tir.expr)} >= {"Add", "BufferLoad", "EQ", "IterVar", "Reduce"}
    assert tir.expr.BufferLoad is tir.BufferLoad
    with pytest.raises(AttributeError, match="has no attribute 'Ad'"):
        _ = tir.expr.Ad


def test_a_comparison_stands_for_an_expression():
    x = tir.Var("x", "int32")
    assert isinstance(convert(x == 1), tir.EQ)
    assert structural_equal(x == 1, tir.EQ(x, 1))
    assert structural_hash(x == 1) == structural_hash(tir.EQ(x, 1))


@pytest.mark.parametrize(
    ("expr", "value", "is_equal"),
    [
        (tir.const(4), 4, True),
        (tir.const(4, "int64"), 4, False),
        (tir.const(1.5), 1.5, True),
        (tir.const(True), True, True),
        (tir.StringImm("a"), "a", True),
        (tir.const(4), 1 << 70, False),
        (tir.const(4), None, False),
        ([tir.const(4)], [4], True),
    ],
)
def test_a_number_stands_for_a_constant_where_structure_is_compared(
    expr: Any, value: Any, is_equal: bool
):
    assert structural_equal(expr, value) is is_equal
    assert structural_equal(value, expr) is is_equal


def test_a_constant_that_all_lanes_have_is_known():
    three, x = tir.IntImm("int32", 3), tir.Var("x", "int32")
    given = [three, tir.Broadcast(three, 4), tir.Broadcast(x, 4), tir.const(3.0), None]
    assert [constant_int(one) for one in given] == [3, 3, None, None, None]
    predicates = [tir.const_true(), tir.const_true(4), tir.const(False), x, None]
    assert [is_true(one) for one in predicates] == [True, True, False, False, False]


def test_the_predicate_of_an_access_is_in_the_registry():
    found: Any = get_global_func("tir.const_true")
    assert structural_equal(found("int8", None), True)
    assert found("int8x4", None).dtype == "uint1x4"
