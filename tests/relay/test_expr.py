from __future__ import annotations

import enum
import pickle
from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace
from rich.pretty import pretty_repr

from parpass import IRModule, load_json, relay, save_json, tir
from parpass.diagnostic import Span
from parpass.errors import IRTypeError, SizeLimitError, UntypedError
from parpass.ir.attrs import DictAttrs
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Expr, as_expr
from parpass.relay.transform.fold_constant import fold_constant
from tests.support.relay.deep import DEPTH, KINDS, MAX_CALLEES

X = relay.var("x", shape=(2, 3))
Y = relay.var("y", "float32")


def test_nodes_are_equal_to_themselves_alone():
    other = relay.var("x", shape=(2, 3))
    assert other != X
    assert {X: 1, other: 2}[X] == 1
    assert X.same_as(X)
    assert not X.same_as(other)


def test_nodes_cannot_be_changed():
    with pytest.raises(AttributeError):
        X.name_hint = "z"  # pyright: ignore[reportAttributeAccessIssue]


def test_var_takes_a_type_a_dtype_or_a_shape():
    assert X.type_annotation == relay.TensorType((2, 3), "float32")
    assert Y.type_annotation == relay.TensorType((), "float32")
    assert relay.var("z").type_annotation is None
    with pytest.raises(IRTypeError, match="a type or a shape"):
        relay.var("z", "float32", shape=(1,))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "int32"), (1.0, "float32"), (True, "bool"), (np.float64(1), "float64")],
)
def test_const_chooses_tvms_dtypes(value: npt.ArrayLike, dtype: str):
    assert relay.const(value).data.dtype == dtype


def test_const_takes_a_dtype_and_refuses_what_is_no_number():
    assert relay.const([1, 2], "float16").data.dtype == "float16"
    with pytest.raises(IRTypeError, match="expected numbers"):
        relay.const("text")


def test_a_constant_knows_its_type():
    assert relay.const(np.ones((2, 3))).checked_type == relay.TensorType(
        (2, 3), "float64"
    )


def test_a_type_that_is_not_inferred_yet_is_an_error_that_says_what_to_do():
    with pytest.raises(UntypedError, match=r"this Var .*run .*InferType"):
        _ = relay.var("x").checked_type


def test_an_annotated_variable_is_typed_and_stays_the_same_variable():
    x = relay.var("x", shape=(2,))
    assert x.checked_type == relay.TensorType((2,))
    typed = relay.transform.InferType()(relay.exp(x))
    assert isinstance(typed, relay.Call)
    assert typed.args[0] is x
    unknown = relay.Var("x", relay.TupleType((relay.IncompleteType(),)))
    assert unknown.checked_type_ is None


def test_a_variable_is_told_from_others_by_its_vid():
    x, other = relay.var("x"), relay.var("x")
    assert x.vid == x.vid
    assert x.vid.same_as(x.vid)
    assert {x.vid, other.vid} == {other.vid, x.vid}
    assert x.vid != other.vid
    assert x.vid.name_hint == "x"


@pytest.mark.parametrize(
    ("expr", "op"),
    [
        (X + Y, "add"),
        (1 + X, "add"),
        (X - 1, "subtract"),
        (X * Y, "multiply"),
        (2.0 / X, "divide"),
        (-X, "negative"),
        (X < Y, "less"),
        (X >= 0, "greater_equal"),
    ],
)
def test_pythons_operators_build_calls(expr: relay.Call, op: str):
    assert expr.op is Op.get(op)
    assert all(isinstance(arg, relay.Expr) for arg in expr.args)


def test_astype_builds_a_cast_and_calling_an_expression_a_call():
    cast, call = X.astype("int32"), relay.GlobalVar("f")(X, Y)
    assert isinstance(cast, relay.Call)
    assert cast.op is Op.get("cast")
    assert isinstance(call, relay.Call)
    assert call.args == (X, Y)


@pytest.mark.parametrize("expr", [X, X + Y, relay.Tuple(()), relay.const(False)])
def test_an_expression_is_true_since_it_is_there(expr: relay.Expr):
    assert expr


def test_a_comparison_has_no_truth_value_before_it_is_computed():
    with pytest.raises(IRTypeError, match=r"no truth value.*logical_and"):
        assert X < Y < X


def test_as_expr_refuses_what_is_no_operand():
    with pytest.raises(IRTypeError, match="got str"):
        as_expr("x")


def test_function_attributes_are_added_and_taken_away_in_copies():
    function = relay.Function((X,), X, relay.TensorType((2, 3)))
    with_attr = function.with_attr("Primitive", 1)
    assert with_attr.attrs == {"Primitive": 1}
    assert function.attrs is None
    assert with_attr.without_attr("Primitive").attrs is None
    assert with_attr.has_nonzero_attr("Primitive")
    assert not with_attr.with_attr("Primitive", 0).has_nonzero_attr("Primitive")


def test_no_attributes_and_empty_attributes_are_the_same():
    assert relay.Function((), X, attrs={}).attrs is None


def test_the_annotated_type_needs_all_annotations():
    tensor = relay.TensorType((2, 3))
    typed = relay.Function((X,), X, tensor)
    assert typed.annotated_type == relay.FuncType((tensor,), tensor)
    assert relay.Function((X,), X).annotated_type is None
    assert relay.Function((relay.var("z"),), X, tensor).annotated_type is None


def test_attributes_are_compared_by_content():
    assert DictAttrs({"a": 1}) == DictAttrs({"a": 1}) != DictAttrs({"a": 2})
    assert hash(DictAttrs({"a": 1, "b": 2})) == hash(DictAttrs({"b": 2, "a": 1}))
    assert pickle.loads(pickle.dumps(DictAttrs({"a": 1}))) == {"a": 1}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(1), True),
        (np.array(2)[()], 2),
        (ml_dtypes.bfloat16(1.5), 1.5),
        ([1, [2.0]], (1, (2.0,))),
        ({"k": [np.uint8(1)], 2: None}, {"k": (1,), 2: None}),
        (enum.IntEnum("Level", "LOW HIGH").HIGH, 2),
        (np.str_("text"), "text"),
        (relay.TensorType((2,), "int8"), relay.TensorType((2,), "int8")),
        (2**64 - 1, 2**64 - 1),
        (tir.IntImm("int32", 1), 1),
        ([tir.IntImm("bool", 1), tir.StringImm("s")], (True, "s")),
        (tir.FloatImm("float32", 0.5), 0.5),
    ],
)
def test_attributes_have_one_full_form_which_texts_and_json_return(
    given: Any, stored: Any
):
    function = relay.Function((X,), X).with_attr("n", given)
    assert function.attrs is not None
    assert function.attrs["n"] == stored
    assert type(function.attrs["n"]) is type(stored)
    mod = IRModule({"main": function})
    assert relay.parse(mod.astext())["main"].attrs == function.attrs
    if type(stored) is not dict:
        assert load_json(save_json(mod))["main"].attrs == function.attrs


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (object(), "program text can express .* for attribute 'n', got object"),
        (b"bytes", "got bytes"),
        (np.arange(3), "got ndarray"),
        (relay.const(1.0), "got Constant"),
        (tir.Var("n", "int32"), "got Var"),
        (2**64, "expected an int of 64 bits for attribute 'n'"),
        ({"k": {1j}}, "got set"),
    ],
)
def test_an_attribute_that_no_text_has_is_refused(given: Any, words: str):
    with pytest.raises(IRTypeError, match=words):
        relay.Function((X,), X).with_attr("n", given)
    with pytest.raises(IRTypeError, match=words):
        IRModule({}, attrs={"n": given})


def test_names_of_attributes_are_strings_and_values_of_bounded_depth():
    with pytest.raises(IRTypeError, match="expected names for keys in attributes"):
        DictAttrs({1: 2})  # pyright: ignore[reportArgumentType]
    deep: Any = ()
    for _ in range(99):
        deep = (deep,)
    DictAttrs({"n": deep})
    with pytest.raises(SizeLimitError, match="'n' is nested more than 100 deep"):
        DictAttrs({"n": (deep,)})


def test_a_tuple_wrapper_unpacks_and_knows_its_size():
    wrapper = relay.TupleWrapper(X, 2)
    first, second = wrapper
    assert (first.index, second.index, len(wrapper)) == (0, 1, 2)
    assert wrapper.astuple() is X
    with pytest.raises(IndexError, match="2 is out of range of 2"):
        wrapper[2]


def test_a_tuple_has_length_and_fields():
    pair = relay.Tuple((X, Y))
    assert len(pair) == 2
    assert pair[1] is Y


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (X, "Var(x)"),
        (relay.GlobalVar("main"), "GlobalVar(main)"),
        (Op.get("nn.conv2d"), "Op(nn.conv2d)"),
        (relay.const(1), "Constant(int32)"),
        (X + Y, "Call(add, 2 args)"),
        (relay.Call(relay.Function((), X), ()), "Call(Function, 0 args)"),
        (relay.Tuple((X, Y)), "Tuple(2 fields)"),
        (relay.TupleGetItem(X, 1), "TupleGetItem(1)"),
        (relay.Let(X, Y, Y), "Let(x)"),
        (relay.If(X, Y, Y), "If(x)"),
        (relay.Function((X,), Y), "Function(1 params)"),
    ],
)
def test_repr_names_a_node_in_a_few_words(expr: relay.Expr, text: str):
    assert repr(expr) == text


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_repr_does_not_look_below_the_children(kind: Callable[[int], Expr]):
    deep = kind(DEPTH)
    assert len(repr(deep)) < 80
    assert len(pretty_repr(deep)) < 80


def test_a_span_names_its_place():
    assert str(Span("model.relay", 3, 3, 5, 9)) == "model.relay:3:5"


def test_sequences_become_tuples() -> None:
    x = relay.var("x", shape=(2,))
    assert relay.Function([x], relay.Tuple([x, x])).params == (x,)
    assert relay.Call(Op.get("add"), [x, x]).args == (x, x)
    types = [relay.TensorType([2])]
    assert relay.FuncType(types, relay.TupleType(types)).arg_types == (*types,)


def test_one_expression_is_no_sequence_of_them() -> None:
    x: Any = relay.var("x", shape=(2,))
    with pytest.raises(IRTypeError, match=r"for params, got Var; try params=\["):
        relay.Function(x, x)
    with pytest.raises(IRTypeError, match="for params, got Tuple"):
        relay.Function(cast("Any", relay.Tuple([x])), x)
    with pytest.raises(IRTypeError, match="a sequence of expressions for fields, got"):
        relay.Tuple(x)
    with pytest.raises(IRTypeError, match="for args, got NoneType"):
        relay.Call(Op.get("abs"), cast("Any", None))


def test_only_variables_are_bound() -> None:
    x, one = relay.var("x", shape=(2,)), relay.const(1.0)
    with pytest.raises(IRTypeError, match="expected a variable for a function to bind"):
        relay.Function([cast("relay.Var", one)], x)
    with pytest.raises(IRTypeError, match="expected a variable for a `let` to bind"):
        relay.Let(cast("relay.Var", one), one, x)


def test_a_rewrite_of_a_parameter_that_is_bound_again_says_so() -> None:
    x, one = relay.var("x", shape=(2,)), relay.const(1.0)
    twice = relay.Function([x], relay.Let(x, relay.add(one, one), relay.add(x, x)))
    with pytest.raises(IRTypeError, match="may be bound twice"):
        fold_constant(twice)


def test_calls_of_what_calls_return_are_bounded():
    callee: Expr = relay.Var("f")
    for _ in range(MAX_CALLEES):
        callee = relay.Call(callee, (X,))
    with pytest.raises(SizeLimitError, match=r"more than 1,000 deep; bind some"):
        relay.Call(callee, (X,))
    with pytest.raises(SizeLimitError):
        replace(relay.Call(relay.Var("f"), ()), op=callee)
