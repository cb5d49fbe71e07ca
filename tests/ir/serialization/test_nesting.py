"""Attributes are nested as deep as programs may have them, and no deeper."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from parpass import load_json, save_json
from parpass.errors import MalformedJSONError, SizeLimitError
from parpass.ir.attrs import Attrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op, register_op
from parpass.ir.serialization.store_codec import IRStoreCodec
from parpass.ir.types.type_structure import MAX_TYPE_DEPTH
from parpass.relay.expr import Call, Function
from parpass.relay.op.declaration.type_relations import identity
from parpass.transform.adapter import keep_inline


class Nested(Attrs, frozen=True):
    """Attributes that may be anything."""

    namespace: ClassVar[str] = "test.nested"

    value: Any


def same(_attrs: object, value: object) -> object:
    return value


OP = register_op(Op("test.nested", 1, identity, same, Nested))


def directly(inner: Any) -> Any:
    return Nested(value=inner)


def by_a_node(inner: Any) -> Any:
    return Nested(value=Call(OP, (), inner))


def nested(depth: int, around: Callable[[Any], Any]) -> Nested:
    found = Nested(value=1)
    for _ in range(depth):
        found = around(found)
    return found


@pytest.mark.parametrize("around", [directly, by_a_node])
def test_attributes_nested_too_deep_are_not_written(around: Callable[[Any], Any]):
    codec = IRStoreCodec(IRModule())
    for depth in (MAX_TYPE_DEPTH, MAX_TYPE_DEPTH + 1):
        call = Call(OP, (), nested(depth, around))
        written = codec.encode(Function((), call), keep_inline)
        if depth == MAX_TYPE_DEPTH:
            assert written is not None
            assert load_json(save_json(call)).attrs.value is not None
        else:
            assert written is None
            with pytest.raises(SizeLimitError, match="Nested is nested more than 101"):
                save_json(call)


@pytest.mark.parametrize("between", [False, True])
def test_attributes_nested_too_deep_are_not_read(between: bool):
    entries: list[Any] = [{"Op": "test.nested"}, {"test.nested.Nested": {"value": 1}}]
    for _ in range(MAX_TYPE_DEPTH + 1):
        if between:
            entries.append(
                {"relay.Call": {"op": 0, "args": [], "attrs": last(entries)}}
            )
        entries.append({"test.nested.Nested": {"value": last(entries)}})
    document = {"parpass": 3, "nodes": entries, "root": last(entries)}
    message = rf"^nodes\[{len(entries) - 1}\]: this Nested is nested more than 101 deep"
    with pytest.raises(MalformedJSONError, match=message):
        load_json(json.dumps(document))


def last(entries: list[Any]) -> dict[str, int]:
    return {"ref": len(entries) - 1}
