"""Programs come back from JSON as they were."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from examples.real_networks import network_paths
from parpass import load_json, relay, save_json, structural_equal
from parpass.diagnostic import Span
from parpass.errors import IRTypeError, SizeLimitError, StructuralMismatchError
from parpass.ir.attrs import Attrs, DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import FuncType, IncompleteType, TensorType, TupleType, Type
from parpass.ir.types.type_structure import MAX_NESTING, MAX_TYPE_DEPTH
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Tuple, Var, const
from parpass.relay.transform import InferType
from parpass.runtime.ndarray import NDArray
from tests.support.drawn import DECORATED, FUNCTIONS, MODULES
from tests.support.onnx.models import imported
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTH, KINDS, X, function_of
from tests.support.relay.programs import call_op


class Level(enum.IntEnum):
    HIGH = 3


def returns_the_same(value: Any) -> None:
    text = save_json(value)
    again = load_json(text)
    assert_structural_equal(again, value)
    assert_structural_equal(value, again)
    assert save_json(again) == text


def checked_types(mod: IRModule) -> list[object]:
    return [
        getattr(node, "checked_type_", None)
        for function in mod.functions_by_name.values()
        for node in post_order(function)
    ]


@given(FUNCTIONS)
@examples(2)
def test_functions_return(function: Function):
    returns_the_same(function)


def test_a_number_of_a_class_of_its_own_is_saved_as_a_number():
    # `in range(...)` goes through all numbers to find an instance of a subclass.
    function = relay.Function((), const(1.0), attrs=DictAttrs({"level": Level.HIGH}))
    again = load_json(save_json(function))
    assert again.attrs["level"] == 3


@pytest.mark.slow
@given(DECORATED)
@examples(1.25)
def test_odd_names_types_attributes_and_constants_return(mod: IRModule):
    returns_the_same(mod)


@pytest.mark.slow
@given(MODULES)
@examples(1.5)
def test_inferred_types_return(mod: IRModule):
    typed = InferType()(mod)
    returns_the_same(typed)
    assert checked_types(load_json(save_json(typed))) == checked_types(typed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_returns(kind: Callable[[int], Expr]):
    function = function_of(kind(DEPTH))
    assert_structural_equal(load_json(save_json(function)), function)


def test_what_types_share_stays_shared_as_deep_as_types_may_be():
    deep: Type = TensorType((2, UnknownDim()))
    for _ in range(MAX_TYPE_DEPTH):
        deep = TupleType((deep, deep))
    again = load_json(save_json(Var("x", deep))).type_annotation
    for _ in range(MAX_TYPE_DEPTH):
        assert again.fields[0] is again.fields[1]
        again = again.fields[0]
    assert again == TensorType((2, UnknownDim()))


NETWORKS = [
    name
    if name in {"shufflenet", "squeezenet"}
    else pytest.param(name, marks=pytest.mark.stress)
    for name in sorted(network_paths())
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_return(name: str):
    returns_the_same(InferType()(imported(network_paths()[name])))


def test_what_is_shared_stays_shared():
    shared, alike = call_op("abs", X), call_op("abs", X)
    data = NDArray(np.arange(100))
    pair = Tuple((shared, shared, alike, const(data), const(data)))
    again = load_json(save_json(pair))
    assert again[0] is again[1]
    assert again[2] is not again[0]
    assert again[2].args[0] is again[0].args[0]
    assert again[3].data is again[4].data
    first, second = load_json(save_json((shared, pair)))
    assert first is second[0]


def test_references_are_to_the_global_variables_of_the_module():
    mod = IRModule({"f": Function((), const(1))})
    mod["main"] = Function((), mod.get_global_var("f")())
    again = load_json(save_json(mod))
    assert again["main"].body.op is again.get_global_var("f")
    assert list(again.functions_by_name) == ["f", "main"]


def test_operators_are_those_of_the_table():
    assert load_json(save_json(call_op("abs", X))).op is Op.get("abs")


def test_spans_sources_and_attributes_return():
    span = Span("m.relay", 1, 1, 3, 5)
    mod = IRModule({}, {}, {"n": [1, (2.0, None)]}, {"m.relay": "text"})
    mod["main"] = Function((), const(1, span=span))
    again = load_json(save_json(mod))
    assert again["main"].body.span == span
    assert again.sources == {"m.relay": "text"}
    assert again.attrs == mod.attrs
    assert again.attrs["n"] == (1, (2.0, None))


@pytest.mark.parametrize(
    "array",
    [
        np.float32(3),
        np.zeros((0, 3)),
        np.array([np.nan, -0.0, np.inf]),
        np.arange(6, dtype=">i2").reshape(2, 3)[:, ::-1],
        np.ones((2, 2), ml_dtypes.bfloat16),
        np.array([True, False]),
        np.array([1j]),
    ],
)
def test_arrays_return_bit_by_bit(array: npt.NDArray[Any]):
    returns_the_same(const(NDArray(array)))


def test_an_array_of_one_repeated_value_is_short_and_stays_so():
    data = NDArray(np.broadcast_to(np.float16(1), (10**6, 10**6)))
    text = save_json(data)
    assert len(text) < 150
    assert load_json(text).is_uniform


@pytest.mark.parametrize(
    "value",
    [
        TensorType((1, relay.Any()), "int8"),
        FuncType((TensorType(()),), TupleType(())),
        call_op("abs", X).attrs,
        relay.clip(X, 0, float("inf")).attrs,
        DictAttrs({"a": (1, True, 1.0, 2**64 - 1, {"k": []})}),
        (1, "two", None),
        Span("f", 1, 2, 3, 4),
        GlobalVar("f"),
    ],
)
def test_any_part_of_a_program_can_be_saved_by_itself(value: Any):
    returns_the_same(value)


@pytest.mark.parametrize(
    "keys",
    [
        {1: 2, "k": 3},
        {True: {None: 1.5}},
        {(1, "two"): ()},
        {TensorType((1,), "int8"): 1},
        {float("inf"): {}},
    ],
)
def test_mappings_in_attributes_are_saved_whatever_their_keys(keys: dict[Any, Any]):
    returns_the_same(DictAttrs({"a": keys, "b": (keys,)}))


def test_attributes_that_can_be_made_can_be_saved_however_deep():
    values: list[Any] = [1, 1]
    for _ in range(MAX_NESTING):
        values = [(values[0],), {2: values[1]}]
    returns_the_same(DictAttrs(dict(zip("ab", values, strict=True))))
    with pytest.raises(SizeLimitError):
        DictAttrs({"a": (values[0],)})


def test_equal_types_spans_and_attributes_are_saved_once():
    def call() -> Call:
        kind = TensorType((2,))
        return relay.clip(Var("x", kind, Span("f", 1, 1, 1, 2)), 0.0, 1.0)

    kinds = [next(iter(one)) for one in entries(Tuple((call(), call())))]
    for name in ("relay.TensorType", "Span", "relay.attrs.ClipAttrs", "Op"):
        assert kinds.count(name) == 1
    assert kinds.count("relay.Var") == kinds.count("relay.Call") == 2


def test_no_axes_are_not_saved_as_all_axes():
    x = Var("x", TensorType((2, 1)))
    for built in (relay.sum(x, ()), relay.sum(x), relay.squeeze(x, ())):
        assert load_json(save_json(built)).attrs == built.attrs


def entries(value: Any) -> list[dict[str, Any]]:
    return json.loads(save_json(value))["nodes"]


def test_the_text_is_one_entry_a_line_children_first():
    assert save_json(call_op("abs", Var("x", TensorType((2, relay.Any()))))) == (
        '{"parpass": 3, "nodes": [\n'
        '{"Op":"abs"},\n'
        '{"relay.Any":{}},\n'
        '{"relay.TensorType":{"shape":[2,{"ref":1}],"dtype":"float32"}},\n'
        '{"relay.Var":{"name_hint":"x","type_annotation":2,"checked_type_":2}},\n'
        '{"relay.Call":{"op":0,"args":[3]}}\n'
        '], "root": {"ref":4}}\n'
    )


class Odd(Attrs, frozen=True):
    """Attributes that no operator has."""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"k": object()}, "expected plain values .* got object"),
        ({"k": "\ud800"}, "a value cannot be saved: .*surrogates not allowed"),
        ({"k": 2**64}, r"expected plain values \(numbers of 64 bits, .*\) .* got int"),
        ({"k": Odd()}, "a Odd cannot be saved: it is no node, type or span"),
    ],
)
def test_what_cannot_be_saved_is_refused(value: dict[str, Any], message: str):
    with pytest.raises(IRTypeError, match=message):
        save_json((value,))


def test_objects_that_contain_themselves_are_refused():
    call = call_op("abs", X)
    msgspec.structs.force_setattr(call, "args", (Tuple((call,)),))
    with pytest.raises(IRTypeError, match="got one that contains itself"):
        save_json(call)


def test_what_is_no_part_of_a_program_is_refused():
    with pytest.raises(IRTypeError, match="expected a part of a program, got str"):
        save_json(Call(cast("Any", "abs"), ()))
    with pytest.raises(IRTypeError, match="a str cannot be saved"):
        save_json(Tuple((cast("Any", "x"),)))


def test_unknown_types_are_told_apart_by_identity():
    one = IncompleteType()
    for second in (one, IncompleteType()):
        again = load_json(save_json(Tuple((Var("x", one), Var("y", second)))))
        first, other = (var.type_annotation for var in again.fields)
        assert (first is other) == (second is one)


@pytest.mark.parametrize("name", ["100%", "%d", "%%s", "\0", '\\0"', "\u2028"])
def test_any_name_returns(name: str):
    var = Var(name, TensorType((2,)), Span(name, 1, 2, 3, 4))
    again = load_json(save_json(Tuple((var, var))))[0]
    assert (again.name_hint, again.span) == (name, var.span)


@pytest.mark.parametrize("numbers", [(1, -2, 3, 4), (0, 0, 0, 0), (1, 1, 2**63, 4)])
def test_any_place_returns(numbers: tuple[int, int, int, int]):
    returns_the_same(Span("f", *numbers))


def test_values_in_themselves_are_refused():
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(SizeLimitError, match="nested more than 100 deep"):
        save_json((endless,))


def test_a_difference_between_loaded_nodes_has_its_path():
    mod = IRModule({"main": Function((), Tuple((const(1), call_op("abs", const(2)))))})
    other = load_json(save_json(mod).replace('"abs"', '"negative"'))
    assert not structural_equal(mod, other)
    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(mod, other)
    assert caught.value.path == "<root>.body.fields[1].op.name"
    assert caught.value.function == "main"
