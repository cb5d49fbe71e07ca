"""Two IRs live in one module, and their kinds of one name stay apart."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from parpass import load_json, relay, save_json
from parpass.errors import InternalError, IRTypeError, ModuleError
from parpass.ir import wire
from parpass.ir.global_var import GlobalVar
from parpass.ir.module import IRModule
from parpass.ir.node import Node, count_nodes, reflected, reflection
from parpass.ir.op.op_table import Op, register_op
from parpass.ir.structural import (
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from parpass.ir.type_functor import TypeVisitor
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.op.tensor.elementwise import ClipAttrs
from tests.ir import toy_tenant as toy


def same(_attrs: object, value: object) -> object:
    return value


ADD = Op.get("add")
CLIP = register_op(Op("test.clip", 1, identity, same, toy.ClipAttrs))


def relay_function(name: str = "x") -> relay.Function:
    x = relay.Var(name, relay.TensorType((2,)))
    return relay.Function((x,), relay.Call(ADD, (x, x)))


def toy_function(name: str = "x") -> toy.Function:
    x = toy.Var(name, toy.TensorType((2,)))
    return toy.Function((x,), toy.Call(ADD, (x, x)))


def module() -> IRModule:
    mod = IRModule({"relay_one": relay_function(), "toy_one": toy_function()})
    x = toy.Var("x")
    clipped = toy.Call(CLIP, (x,), toy.ClipAttrs(a_min=1.0, a_max=2.0))
    called = toy.Call(mod.get_global_var("relay_one"), (clipped,))
    mod["toy_main"] = toy.Function((x,), called, {"n": 1})
    y = relay.Var("y")
    mod["main"] = relay.Function((y,), relay.clip(y, 1.0, 2.0))
    return mod


def kinds(mod: IRModule) -> list[type[Node]]:
    return [type(function) for function in mod.functions_by_name.values()]


def test_functions_of_both_stand_in_one_module():
    assert kinds(module()) == [
        relay.Function,
        toy.Function,
        toy.Function,
        relay.Function,
    ]
    assert module()["toy_main"].with_attr("n", 2).attrs == {"n": 2}


def test_a_function_of_either_must_be_closed():
    with pytest.raises(ModuleError, match="'f' has free variables: 'x'"):
        IRModule({"f": toy.Function((), toy.Var("x"))})
    with pytest.raises(
        IRTypeError, match="Var cannot be put in a module as a function"
    ):
        IRModule({"f": toy.Var("x")})


def test_nodes_of_one_name_are_not_equal():
    mine, theirs = relay_function(), toy_function()
    assert not structural_equal(mine, theirs)
    assert structural_hash(mine) != structural_hash(theirs)
    assert structural_equal(toy_function("x"), toy_function("y"))
    assert structural_hash(toy_function("x")) == structural_hash(toy_function("y"))


def test_types_and_attributes_of_one_name_are_not_equal():
    mine: Any = relay.TensorType((2,))
    theirs: Any = toy.TensorType((2,))
    assert mine != theirs
    assert relay.TupleType((mine,)) != relay.TupleType((theirs,))
    assert structural_hash(relay.TupleType((theirs,))) == structural_hash(
        relay.TupleType((toy.TensorType((2,)),))
    )
    assert not structural_equal(mine, theirs)
    assert not structural_equal(ClipAttrs(a_min=1.0, a_max=2.0), _clip_attrs())
    assert structural_equal(_clip_attrs(), _clip_attrs())


def _clip_attrs() -> toy.ClipAttrs:
    return toy.ClipAttrs(a_min=1.0, a_max=2.0)


def test_json_keeps_the_kinds_of_both():
    mod = module()
    text = save_json(mod)
    for kind in ("Var", "Call", "Function", "TensorType"):
        assert f'{{"relay.{kind}":' in text
        assert f'{{"toy.{kind}":' in text
    assert '{"toy.attrs.ClipAttrs":' in text
    assert '{"relay.attrs.ClipAttrs":' in text
    again = load_json(text)
    assert kinds(again) == kinds(mod)
    assert_structural_equal(again, mod)
    assert save_json(again) == text


def test_the_wire_and_pickle_keep_the_kinds_of_both():
    mod = module()
    for function in mod.functions_by_name.values():
        again = wire.decode(wire.encode(function), (), mod.global_vars_by_name)
        assert type(again) is type(function)
        assert_structural_equal(again, function)
    again = pickle.loads(pickle.dumps(mod))
    assert kinds(again) == kinds(mod)
    assert_structural_equal(again, mod)
    assert again["toy_main"].body.op is again.get_global_var("relay_one")


def test_functions_of_both_are_encoded_in_one_run():
    encode = wire.open_encoder()
    encoded = b"".join([encode(relay_function()) or b"", encode(toy_function()) or b""])
    decode = wire.open_decoder(encoded)
    assert [type(decode()), type(decode())] == [relay.Function, toy.Function]


class _Renamed(toy.ToyMutator):
    def visit_var(self, var: toy.Var) -> Node:
        return toy.Var(f"{var.name_hint}_new", var.type_annotation)


def test_a_mutator_of_the_second_rewrites_its_nodes_and_refuses_those_of_the_first():
    before = toy_function()
    after = _Renamed().visit(before)
    assert isinstance(after, toy.Function)
    assert str(after) == "add(x_new, x_new)"
    assert count_nodes(after, 100) == count_nodes(before, 100)
    assert toy.ToyMutator().visit(before) is before
    with pytest.raises(IRTypeError, match="expected an expression, got Function"):
        _Renamed().visit(relay_function())
    with pytest.raises(IRTypeError, match="expected an expression, got Function"):
        relay.ExprMutator().visit(toy_function())  # pyright: ignore[reportArgumentType]


def test_references_to_globals_follow_when_modules_are_joined():
    mod = IRModule({"relay_one": relay_function()})
    own = mod.get_global_var("relay_one")
    mod.update(module())
    assert mod["toy_main"].body.op is own


def test_each_is_printed_in_its_own_text():
    text = module().astext()
    assert "toy toy_main = @relay_one(test.clip(x))\n" in text
    assert "def @main(%y) {\n  clip(%y, a_min=1.0f, a_max=2.0f)\n}\n" in text
    assert repr(toy.Var("x")) == "Var(x)"


def test_python_operators_are_those_of_the_ir():
    with pytest.raises(
        IRTypeError, match=r"Function and int cannot be operands of 'add'"
    ):
        _ = toy_function() + 1
    assert isinstance(GlobalVar("f")(relay.Var("x")), relay.Call)


def test_types_of_the_second_have_visitor_methods_of_their_own():
    class Seen(TypeVisitor):
        def __init__(self) -> None:
            self.found: list[toy.TensorType] = []

        def visit_toy_type(self, typ: toy.TensorType) -> None:
            self.found.append(typ)

    seen, inner = Seen(), toy.TensorType((1,))
    seen.visit(relay.TupleType((relay.TensorType(()), inner)))
    assert seen.found == [inner]


def test_a_node_class_says_of_which_ir_it_is():
    class Lost(Node, frozen=True, eq=False):
        pass

    with pytest.raises(InternalError, match="Lost does not say of which IR it is"):
        reflected(is_graph=False)(Lost)
    with pytest.raises(KeyError):
        reflection(Lost)
