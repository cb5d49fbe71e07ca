"""Operators by facets: what the table says of each, and what holds for all it names."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Effect, OpPattern
from parpass.ir.serialization import load_json, save_json
from parpass.ir.structural import assert_structural_equal
from parpass.relay.op import Op
from parpass.relay.op.declaration.attributes import attr_fields
from parpass.relay.text.parser import parse
from tests.support.profiles import examples
from tests.support.relay.lowered import as_function
from tests.support.relay.op.calls import call_of
from tests.support.relay.op.operators import (
    GENERATED,
    ROWS,
    declared,
    shipped,
    with_facet,
)
from tests.support.relay.op.shapes import Built

pytestmark = pytest.mark.hunt  # properties are inside of tests


@st.composite
def calls(draw: st.DrawFn, name: str) -> Built:
    return GENERATED[name](draw)


def test_the_table_says_what_each_operator_has() -> None:
    lines = [declared(op).line(op.name) for op in shipped()]
    assert [row.line(name) for name, row in ROWS.items()] == lines


def test_each_operator_has_a_generator_of_calls() -> None:
    assert GENERATED.keys() == ROWS.keys()


@pytest.mark.parametrize("name", ROWS)
def test_text_json_and_pickle_give_a_call_back(name: str) -> None:
    @examples(0.2)
    @given(calls(name))
    def holds(built: Built) -> None:
        attrs: Attrs | None = call_of(built).attrs
        assert type(attrs) is (Op.get(name).attrs_type or type(None))
        again = pickle.loads(pickle.dumps(attrs))
        assert again == attrs
        assert hash(again) == hash(attrs)
        mod = IRModule({"main": as_function(built)[0]})
        assert_structural_equal(parse(mod.astext()), mod)
        assert_structural_equal(load_json(save_json(mod)), mod)

    holds()


@pytest.mark.parametrize("name", with_facet("attributes"))
def test_what_no_attribute_can_be_is_refused(name: str) -> None:
    kind = Op.get(name).attrs_type
    assert kind is not None
    for field in attr_fields(kind).values():
        with pytest.raises(IRTypeError, match=f"{field.name}|{name}"):
            field.normal(object(), name)


class Facts(NamedTuple):
    """What TVM registers for an operator; without a pattern it fuses with none."""

    pattern: OpPattern
    stateful: bool


def tvms_operators() -> dict[str, Facts]:
    text = Path(__file__).with_name("tvm_operators.txt").read_text()
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {
        name: Facts(
            OpPattern.OPAQUE if pattern == "none" else OpPattern(int(pattern)),
            rest == ["stateful"],
        )
        for name, pattern, *rest in lines
    }


def test_fusion_patterns_and_state_are_tvms() -> None:
    tvms = tvms_operators()
    # It stays where it is, as for-tvm-users.md says.
    tvms["debug"] = tvms["debug"]._replace(stateful=True)
    for name in ROWS.keys() & tvms.keys():
        row = ROWS[name]
        assert Facts(row.pattern, row.effect is not Effect.PURE) == tvms[name], name
        stateful = Op.get(name).get_attr("TOpIsStateful")
        assert stateful is (row.effect is not Effect.PURE)
