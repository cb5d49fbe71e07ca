"""Operators declared step by step, as in TVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import DiagnosticError, EvaluationError, IRError, IRTypeError
from parpass.ir.op.op_table import Op, OpPattern
from parpass.runner import Runner

X = relay.var("x", shape=(10, 4))
_made: list[str] = []


@pytest.fixture
def name() -> str:
    """Give a name that no operator has yet."""
    _made.append(f"test.declared{len(_made)}")
    return _made[-1]


def typed(op: Op, *args: relay.Expr) -> relay.Type:
    mod = tvm.IRModule.from_expr(relay.Call(op, args))
    return relay.transform.InferType()(mod)["main"].ret_type


def test_an_operator_is_what_it_is_told_to_be(name: str):
    op = relay.op.register(name, "adds")
    assert op is relay.op.get(name) is Op.get(name)
    op.set_num_inputs(2)
    op.set_support_level(3)
    op.add_argument("lhs", "Tensor", "one")
    op.add_argument("rhs", "Tensor", "another")
    op.add_type_rel("Broadcast")
    op.set_attrs_type_key("relay.attrs.ClipAttrs")
    relay.op.register_pattern(name, OpPattern.BROADCAST)
    relay.op.register_stateful(name, True)
    assert (op.num_inputs, op.support_level, op.description) == (2, 3, "adds")
    assert [one[0] for one in op.arguments] == ["lhs", "rhs"]
    assert op.get_attr("TOpPattern") == OpPattern.BROADCAST
    assert op.get_attr("TOpIsStateful") is True
    assert op.attrs_type is Op.get("clip").attrs_type
    op.set_attrs_type_key("DictAttrs")
    assert op.attrs_type is None
    wide = typed(op, X, relay.var("y", shape=(5, 10, 1)))
    assert wide == relay.TensorType((5, 10, 4))


def test_a_relation_of_ones_own_gives_the_type(name: str):
    op = relay.op.register(name)
    op.add_type_rel("flat", lambda types, _attrs: relay.TensorType((40,), "int8"))
    assert typed(op, X) == relay.TensorType((40,), "int8")


def _asserting(types: Sequence[relay.Type], _attrs: Any) -> relay.Type:
    assert len(types) == 2, "expected two"
    return types[0]


def _giving_none(_types: Sequence[relay.Type], _attrs: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (_asserting, "'rel' refuses it: expected two"),
        (_giving_none, "'rel' gives no type for the result"),
        (None, "the operator has no type relation; see Op.add_type_rel"),
    ],
)
def test_what_a_relation_refuses_is_a_diagnostic(
    name: str, relation: Any, message: str
):
    op = relay.op.register(name)
    if relation is not None:
        op.add_type_rel("rel", relation)
    with pytest.raises(DiagnosticError) as caught:
        typed(op, X)
    [said] = caught.value.diagnostics
    assert message in said.message


def test_wrong_declarations_are_refused(name: str):
    op = relay.op.register(name)
    with pytest.raises(IRError, match="is registered already"):
        relay.op.register(name)
    with pytest.raises(IRTypeError, match="no type relation named 'Identiy'"):
        op.add_type_rel("Identiy")
    with pytest.raises(IRTypeError, match=r"no attributes named 'relay\.attrs\.Clip'"):
        op.set_attrs_type_key("relay.attrs.Clip")
    with pytest.raises(IRError, match="that this program registered, got 'add'"):
        relay.op.get("add").set_num_inputs(3)


def test_without_a_meaning_it_is_not_computed(name: str):
    op = relay.op.register(name)
    op.add_type_rel("Identity")
    with pytest.raises(EvaluationError, match="has no meaning"):
        relay.create_executor().evaluate(relay.Call(op, [relay.const(1.0)]))


def test_workers_know_what_was_declared(name: str, runner: Runner):
    op = relay.op.register(name)
    op.add_type_rel("flat", lambda types, _attrs: relay.TensorType((40,), "int8"))
    functions = {str(at): relay.Function([X], relay.Call(op, [X])) for at in range(4)}
    mod = tvm.IRModule(functions)
    done = runner.run_sync(mod, relay.transform.InferType())
    assert str(done) == str(relay.transform.InferType()(mod))
    assert done["3"].ret_type == relay.TensorType((40,), "int8")
