from __future__ import annotations

import re
from typing import Any, Literal

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir.serialization.schema import check_of


@pytest.mark.parametrize(
    ("annotation", "fits", "misfits"),
    [
        (int, 1, True),
        (float, 1, "1"),
        (tuple[int, ...], (1, 2), (1, "2")),
        (tuple[int, str], (1, "a"), (1,)),
        (int | None, None, "1"),
        (list[int], (1, 2), 3),
    ],
)
def test_values_fit_their_annotations(annotation: Any, fits: Any, misfits: Any):
    check = check_of(annotation)
    assert check(fits) is None
    assert check(misfits) is not None


def test_an_annotation_that_cannot_be_checked_takes_every_value():
    assert check_of(Literal["a", "b"])("c") is None


def test_attributes_are_made_by_the_names_that_they_have_in_json():
    made = tvm.ir.make_node("relay.attrs.Conv2DAttrs", strides=[2, 2], kernel_size=None)
    assert made["strides"] == (2, 2)
    text = tvm.save_json(relay.nn.conv2d(relay.var("x"), relay.var("w"), (2, 2)))
    assert "relay.attrs.Conv2DAttrs" in text


def test_dict_attrs_have_any_names():
    made = tvm.ir.make_node("DictAttrs", **{"relay.reshape_only": 1, "Primitive": 1})
    assert made == tvm.ir.DictAttrs({"relay.reshape_only": 1, "Primitive": 1})
    function = relay.Function((), relay.const(1), attrs=made)
    parsed = relay.parse_expr(function.astext())
    tvm.ir.assert_structural_equal(parsed, function)


def test_types_and_expressions_are_made_too():
    typ = tvm.ir.make_node("relay.TensorType", shape=[1, 2], dtype="int8")
    assert typ == relay.TensorType((1, 2), "int8")
    var = tvm.ir.make_node("relay.Var", name_hint="x", type_annotation=typ)
    assert isinstance(var, relay.Var)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("relay.attrs.ClipAtrs", {}, "no node named 'relay.attrs.ClipAtrs'; did you"),
        ("relay.attrs.ClipAttrs", {"a": 1.0}, "has no field named 'a'"),
        ("relay.attrs.ClipAttrs", {"a_min": 1.0}, "needs the fields a_max"),
        ("relay.attrs.ClipAttrs", {"a_min": "x"}, "for a_min, not"),
        ("relay.TensorType", {"shape": [-1]}, "from 0 on"),
    ],
)
def test_what_is_none_is_refused(name: str, fields: dict[str, Any], message: str):
    with pytest.raises(IRTypeError, match=re.escape(message)):
        tvm.ir.make_node(name, **fields)
