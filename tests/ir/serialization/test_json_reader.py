"""Whatever the text, loading gives a program or one error with a place."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import load_json, relay, save_json
from parpass.errors import IRTypeError, MalformedJSONError
from parpass.ir.attrs import Attrs, DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op, register_op
from parpass.ir.types import TensorType
from parpass.relay.expr import Function, If, Let, TupleGetItem, Var, const
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.transform import InferType
from tests.support.profiles import examples


def everything() -> IRModule:
    """Return a small module with most of what JSON can hold."""
    x = Var("x", TensorType((2, relay.Any())))
    y = Var("y")
    choice = If(const(value=True), y, relay.abs(y))
    pair = relay.Tuple((choice, const(np.ones((2, 3), "float32"))))
    body = Let(y, relay.clip(x, -1.5, float("inf")), TupleGetItem(pair, 0))
    mod = IRModule({}, {}, {"n": [1, (2.5, None)]}, {"m.relay": "text"})
    mod["f"] = Function((x,), body, attrs={"Inline": 1})
    z = Var("z", TensorType((2, 3)))
    mod["main"] = Function((z,), mod.get_global_var("f")(z))
    return InferType()(mod)


TEXT = save_json(everything())


def is_read_or_refused(text: str | bytes) -> None:
    try:
        value = load_json(text)
    except MalformedJSONError as error:
        refused = error
    else:
        again = save_json(value)
        assert save_json(load_json(again)) == again
        return
    assert str(refused).startswith(f"{refused.where}: ")
    assert len(str(refused)) < 1000


@st.composite
def damaged_bytes(draw: st.DrawFn) -> bytes:
    data = bytearray(TEXT.encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        length = draw(st.integers(0, 3))
        data[at : at + length] = draw(st.binary(max_size=3) | st.just(b"9"))
    return bytes(data)


@st.composite
def damaged_documents(draw: st.DrawFn) -> str:
    """Give the document with some of its parts lost, exchanged, or others."""
    document = json.loads(TEXT)
    for _ in range(draw(st.integers(1, 3))):
        places = list(places_in(document))
        within, key = draw(st.sampled_from(places))
        other, other_key = draw(st.sampled_from(places))
        match draw(st.integers(0, 3)):
            case 0:
                del within[key]
            case 1:
                within[key] = json.loads(json.dumps(other[other_key]))
            case 2 if isinstance(key, str):
                name = draw(st.text(max_size=3) | st.just(other_key).map(str))
                within[name] = within.pop(key)
            case _:
                within[key] = draw(values)
    return json.dumps(document)


def places_in(value: Any) -> list[tuple[Any, Any]]:
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        within: Any = waiting.pop()
        keys: list[Any] = list(range(len(within)))
        if isinstance(within, dict):
            keys = list(cast("dict[str, Any]", within))
        places += [(within, key) for key in keys]
        waiting += [within[key] for key in keys if isinstance(within[key], dict | list)]
    return places


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 60),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=4),
        st.sampled_from(["abs", "float32", ">float32", "bfloat16", "int4", "nan"]),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["ref", "list", "dict", "pairs", "DictAttrs", "bytes", "Op", "q"]
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


@given(damaged_documents())
@examples(7.5)
def test_damaged_documents(text: str):
    is_read_or_refused(text)


@given(damaged_bytes())
@examples(3.75)
def test_damaged_bytes(text: bytes):
    is_read_or_refused(text)


@given(st.text() | st.binary() | values.map(json.dumps))
@examples(2.5)
def test_any_text(text: str | bytes):
    is_read_or_refused(text)


def document(*entries: Any, root: Any = None) -> str:
    return json.dumps({"parpass": 3, "nodes": entries, "root": root})


FLOAT: Any = {"relay.TensorType": {"shape": [], "dtype": "float32"}}
X = {"relay.Var": {"name_hint": "x"}}


def data(**fields: Any) -> dict[str, Any]:
    """Return an entry for an array with some fields changed."""
    sound = {"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}
    return {"NDArray": {**sound, **fields}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "JSON: Input data was truncated"),
        ("[" * 100_000, "JSON: Expected `object`, got `array`"),
        ('"\ud800"', "JSON: .*surrogates not allowed"),
        ('{"parpass": 3, "nodes": []}', "JSON: Object missing required field `root`"),
        (
            '{"parpass": 4, "nodes": [], "root": 1}',
            "parpass: expected version 3, got 4: a later parpass wrote it;",
        ),
        (
            '{"parpass": 2, "nodes": [], "root": 1}',
            "parpass: expected version 3, got 2: .*write its text by astext",
        ),
        (
            '{"parpass": 3, "nodes": [], "root": 1, "nodes": []}',
            "JSON: expected each key once in an object, got 'nodes' again",
        ),
        (
            document(data()).replace('"dtype"', '"dtype": 1, "dtype"'),
            r"nodes\[0\]: expected each key once in an object, got 'dtype' again",
        ),
        (
            document(root={"dict": {r'a"': 1, "?": 2}}).replace("?", r"\u0061\""),
            "JSON: expected each key once in an object, got 'a\"' again",
        ),
        (document(root={"ref": 0}), "root: expected a reference to one of the 0 nodes"),
        (document(root=[{"ref": "a"}]), r"root\[0\]: expected a reference, got str"),
        (document(root={"float": "1"}), "root: expected 'inf' or 'nan', got '1'"),
        (document(root=2**64), "root: expected an int of 64 bits"),
        (document({}), r"nodes\[0\]: expected one kind, such as"),
        (
            document({"relay.Vra": {}}),
            r"nodes\[0\]: unknown kind 'relay\.Vra'; did you mean 'relay\.Var'\?",
        ),
        (
            document({"relay.Any": {}}, {"relay.Any": []}),
            r"nodes\[1\]: expected an object, got list",
        ),
        (document({"relay.Var": 3}), r"nodes\[0\]: expected an object, got int"),
        (
            document({"relay.Var": {"name_hnt": "x"}}),
            r"nodes\[0\]: relay\.Var has no field 'name_hnt'; did you mean",
        ),
        (document({"relay.Var": {}}), r"nodes\[0\]: relay\.Var needs 'name_hint'"),
        (
            document({"relay.Var": {"name_hint": 3}}),
            r"nodes\[0\]\.name_hint: expected str, not int",
        ),
        (
            document({"Op": "ad"}),
            r"nodes\[0\]: no operator named 'ad'; did you mean",
        ),
        (document({"Op": []}), r"nodes\[0\]: expected the name of an operator"),
        (
            document({"relay.Tuple": {"fields": [0]}}),
            r"nodes\[0\]\.fields\[0\]: expected a reference to one of the 0 nodes",
        ),
        (
            document(X, FLOAT, {"relay.Tuple": {"fields": [0, 1]}}),
            r"nodes\[2\]\.fields\[1\]: expected RelayExpr, not TensorType",
        ),
        (
            document(X, {"relay.Tuple": {"fields": [-1]}}),
            r"nodes\[1\]\.fields\[0\]: expected a reference to one of the 1 nodes",
        ),
        (
            document(X, {"relay.Tuple": {"fields": [True]}}),
            r"nodes\[1\]\.fields\[0\]: expected a reference, got bool",
        ),
        (
            document(X, {"relay.Var": {"name_hint": "y", "type_annotation": 0}}),
            r"nodes\[1\]\.type_annotation: expected Type or None, not Var",
        ),
        (
            document({"relay.TensorType": {"shape": [-1.5], "dtype": "int8"}}),
            r"nodes\[0\]\.shape\[0\]: expected int or Any, not float",
        ),
        (
            document({"relay.attrs.Conv2DAttrs": {"strides": [1, 1, 1]}}),
            r"nodes\[0\]\.strides: expected 2 items, not 3",
        ),
        (
            document({"relay.attrs.Conv2DAttrs": {"strides": [1, "1"]}}),
            r"nodes\[0\]\.strides\[1\]: expected int, not str",
        ),
        (document(data(dtype="object")), r"nodes\[0\]: no dtype named 'object'"),
        (
            document(data(dtype="<float32")),
            r"nodes\[0\]: expected dtype 'float32' without a byte order",
        ),
        (document(data(dtype=None)), r"nodes\[0\]: expected the name of a dtype"),
        (document(data(shape=[3])), r"nodes\[0\]: expected 12 bytes for shape \[3\]"),
        (document(data(shape=[-1])), r"nodes\[0\]: expected a shape without neg"),
        (document(data(shape=[1.0])), r"nodes\[0\]: expected a shape of ints"),
        (document(data(shape=[1] * 65)), r"nodes\[0\]: expected a shape of at most 64"),
        (document(data(shape=[10**30])), r"nodes\[0\]: expected a shape of ints that"),
        (document(data(shape=[10**15])), r"nodes\[0\]: expected 4000000000000000 "),
        (document(data(data="A")), r"nodes\[0\]: "),
        (document(data(data=None)), r"nodes\[0\]: expected text in base64"),
        (document(data(repeat="")), r"nodes\[0\]: expected either 'data' or 'repeat'"),
        (
            document({"IRModule": {"functions": [], "attrs": None}}),
            r"nodes\[0\]: expected functions, attrs and sources of an IRModule",
        ),
        (
            document(
                X, {"IRModule": {"functions": [[0, 0]], "attrs": None, "sources": {}}}
            ),
            r"nodes\[1\]\.functions\[0\]: expected a new GlobalVar and a Function",
        ),
    ],
)
def test_messages_say_where_and_what(text: str, message: str):
    with pytest.raises(MalformedJSONError, match=f"^{message}"):
        load_json(text)


def test_what_looks_like_a_key_within_a_string_is_none():
    names = ('":', "\\", '\\":{"', ":", "a\\\\")
    attrs = DictAttrs({name: name for name in names})
    for text in (save_json(attrs), json.dumps(json.loads(save_json(attrs)))):
        assert load_json(text) == load_json(text.encode()) == attrs


def test_values_nested_without_end_are_refused():
    for begin, end in (('{"list": [', "]}"), ('{"pairs": [[1, ', "]]}")):
        nested = begin * 200 + "1" + end * 200
        with pytest.raises(MalformedJSONError, match="nested more than 100 deep"):
            load_json(f'{{"parpass": 3, "nodes": [], "root": {nested}}}')
    nested = "[" * 100_000 + "]" * 100_000
    expected = (
        "^JSON: expected lists .* at most 100 deep, got .*, as save_json writes it$"
    )
    with pytest.raises(MalformedJSONError, match=expected):
        load_json(f'{{"parpass": 3, "nodes": [], "root": {nested}}}')


@pytest.mark.parametrize(
    "pairs", ["[1]", "[[1]]", "[[1, 2], [1, 3]]", '[[{"list": []}, 1]]']
)
def test_a_mapping_has_pairs_of_a_new_key_and_a_value(pairs: str):
    message = r"root\[\d\]: expected a new key and a value"
    with pytest.raises(MalformedJSONError, match=message):
        load_json(f'{{"parpass": 3, "nodes": [], "root": {{"pairs": {pairs}}}}}')


def test_a_function_with_free_variables_is_no_part_of_a_module():
    entries: list[Any] = [
        {"relay.GlobalVar": {"name_hint": "f"}},
        X,
        {"relay.Function": {"params": [], "body": 1}},
        {"IRModule": {"functions": [[0, 2]], "attrs": None, "sources": {}}},
    ]
    with pytest.raises(MalformedJSONError, match=r"^nodes\[3\]\.functions: "):
        load_json(document(*entries))


def test_what_is_no_text_is_a_type_error():
    with pytest.raises(IRTypeError, match="expected JSON text, got int"):
        load_json(3)  # pyright: ignore[reportArgumentType]


def test_memory_is_bounded_by_the_text_not_by_what_it_claims():
    shape = [2**31, 2**31]
    text = document({"NDArray": {"dtype": "int8", "shape": shape, "repeat": "AQ=="}})
    tracemalloc.start()
    try:
        load_json(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def types_in_types(depth: int) -> str:
    entries = [{"relay.TupleType": {"fields": [{"ref": at}]}} for at in range(depth)]
    return document({"relay.TensorType": {"shape": [2], "dtype": "float32"}}, *entries)


def test_types_nested_without_end_are_refused():
    assert load_json(types_in_types(101)) is None
    for depth in (102, 20_000):
        words = r"^nodes\[102\]: .*types nested at most 101 deep, got 102"
        with pytest.raises(MalformedJSONError, match=words):
            load_json(types_in_types(depth))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shape": [-5], "dtype": "float32"}, "from 0 on, or Any.*, for a dimension"),
        ({"shape": [2**63], "dtype": "float32"}, "an int of 64 bits from 0 on"),
        ({"shape": [2], "dtype": "nonsense"}, "no dtype named 'nonsense'"),
        ({"shape": [True], "dtype": "float32"}, "expected int or Any, not bool"),
        ({"shape": 2, "dtype": "float32"}, "expected a tuple, not int"),
    ],
)
def test_a_type_that_is_none_is_refused(fields: dict[str, Any], words: str):
    with pytest.raises(MalformedJSONError, match=rf"^nodes\[0\].*: .*{words}"):
        load_json(document({"relay.TensorType": fields}))


def test_attributes_that_no_program_has_are_refused():
    text = (
        '{"parpass": 3, "nodes": [], "root": {"DictAttrs": {"a": {"bytes": "AA=="}}}}'
    )
    with pytest.raises(
        MalformedJSONError, match=r"^root: expected a value that program"
    ):
        load_json(text)


def test_another_ir_does_not_take_the_place_of_relays_nodes():
    before = save_json(everything())

    class Call(Attrs, frozen=True):
        """Attributes with the name of a node."""

        level: int = 1

    odd = register_op(Op("test.namespace", 1, identity, same, Call))
    called = relay.Call(odd, (const(1.0),), Call(level=2))
    assert save_json(everything()) == before
    assert '{"relay.attrs.Call":{"level":2}}' in save_json(called)
    assert load_json(save_json(called)).attrs == Call(level=2)


def test_two_classes_of_one_name_are_refused_where_they_are_used():
    def attributes(default: int) -> type[Attrs]:
        class TwiceAttrs(Attrs, frozen=True):
            n: int = default

        return TwiceAttrs

    one, other = attributes(1), attributes(2)
    for number, kind in enumerate((one, other)):
        register_op(Op(f"test.twice{number}", 1, identity, same, kind))
    assert load_json(save_json(everything()))["f"].attrs == {"Inline": 1}
    with pytest.raises(IRTypeError, match=r"one class named .relay.attrs.Twice"):
        save_json(one())
    with pytest.raises(
        MalformedJSONError, match="give one of them another `namespace`"
    ):
        load_json(
            '{"parpass": 3, "nodes": [{"relay.attrs.TwiceAttrs": {}}], "root": null}'
        )


def same(_attrs: object, value: object) -> object:
    return value
