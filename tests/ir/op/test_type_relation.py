from __future__ import annotations

import pickle

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import UnknownFunctionError

A, B = relay.TypeVar("A"), relay.TypeVar("B")
VECTOR, SCALAR = relay.TensorType((3,)), relay.TensorType(())
IDENTITY = tvm.ir.EnvFunc("tvm.relay.type_relation.Identity")
BROADCAST = tvm.ir.EnvFunc("tvm.relay.type_relation.Broadcast")


def constrained(
    func: tvm.ir.EnvFunc = IDENTITY, var: relay.TypeVar = A
) -> relay.FuncType:
    relation = relay.TypeRelation(func, [var, VECTOR], 1)
    return relay.FuncType([var], VECTOR, [var], [relation])


def test_relations_are_compared_by_function_types_inputs_and_attributes() -> None:
    one = relay.TypeRelation(BROADCAST, [SCALAR, VECTOR], 1)
    assert one == relay.TypeRelation(BROADCAST, (SCALAR, VECTOR), 1)
    others = [
        relay.TypeRelation(IDENTITY, [SCALAR, VECTOR], 1),
        relay.TypeRelation(None, [SCALAR, VECTOR], 1),
        relay.TypeRelation(BROADCAST, [VECTOR, SCALAR], 1),
        relay.TypeRelation(BROADCAST, [SCALAR, VECTOR], 2),
        relay.TypeRelation(
            BROADCAST, [SCALAR, VECTOR], 1, tvm.ir.make_node("DictAttrs", axis=1)
        ),
    ]
    assert one not in others


def test_constraints_are_part_of_a_function_type() -> None:
    assert constrained() == constrained(var=B)
    assert constrained() != constrained(BROADCAST)
    assert constrained() != relay.FuncType([A], VECTOR, [A])
    assert str(constrained()) == "fn <A>(A) -> Tensor[(3,), float32]"


def test_constraints_keep_their_types_when_those_are_rewritten() -> None:
    class Scalars(relay.TypeMutator):
        def visit_tensor_type(self, tt: relay.TensorType) -> relay.Type:
            return relay.scalar_type(tt.dtype)

    found = Scalars().visit(constrained())
    wanted = relay.TypeRelation(IDENTITY, [A, SCALAR], 1)
    assert found == relay.FuncType([A], SCALAR, [A], [wanted])
    used = constrained().instantiated([SCALAR])
    wanted = relay.TypeRelation(IDENTITY, [SCALAR, VECTOR], 1)
    assert used == relay.FuncType([SCALAR], VECTOR, [], [wanted])


def test_constraints_are_in_json_and_in_pickles() -> None:
    typ = constrained()
    assert tvm.ir.load_json(tvm.ir.save_json(typ)) == typ
    assert pickle.loads(pickle.dumps(typ)) == typ


def test_a_function_is_known_by_its_name() -> None:
    name = "relay._transform.InferType"
    assert tvm.ir.EnvFunc.get(name) == tvm.ir.EnvFunc(name)
    with pytest.raises(UnknownFunctionError):
        tvm.ir.EnvFunc.get("tvm.relay.type_relation.Nothing")
