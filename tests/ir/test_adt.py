from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from parpass.errors import (
    IRTypeError,
    MalformedJSONError,
    ModuleError,
    SizeLimitError,
    UnknownGlobalError,
)
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall, TypeData
from parpass.ir.module import IRModule
from parpass.ir.serialization import load_json, save_json
from parpass.ir.structural import (
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from parpass.ir.type_functor import TypeMutator
from parpass.ir.types import FuncType, RelayRefType, TensorType, Type, TypeVar
from parpass.ir.types.type_structure import MAX_TYPE_DEPTH, substitute
from parpass.relay.expr import Call, Function
from tests.support.relay.adts import CONS, LIST, LIST_DATA, NIL, A, with_lists

B, INT = TypeVar("B"), TensorType((), "int32")


def list_named(var: TypeVar) -> TypeData:
    made = Constructor("Cons", (var, LIST(var)), LIST), Constructor("Nil", (), LIST)
    return TypeData(LIST, (var,), made)


def test_a_name_called_on_types_gives_the_type():
    assert LIST(INT) == TypeCall(GlobalTypeVar("List"), [INT])
    assert LIST(INT) != LIST(B)
    assert str(LIST(LIST(INT))) == "List[List[int32]]"
    assert str(GlobalTypeVar("nat")()) == "nat"
    assert str(RelayRefType(LIST(INT))) == "ref(List[int32])"


def test_type_variables_are_substituted_in_defined_types_and_references():
    typ = FuncType((LIST(A), RelayRefType(A)), A)
    wanted = FuncType((LIST(INT), RelayRefType(INT)), INT)
    assert substitute(typ, {A: INT}) == wanted


def test_a_mutator_rewrites_arguments_of_types():
    class ToInt(TypeMutator):
        def visit_type_var(self, tv: TypeVar) -> Type:
            return INT

    assert ToInt().visit(RelayRefType(LIST(A))) == RelayRefType(LIST(INT))


def test_definitions_are_equal_but_for_the_names_of_type_variables():
    assert list_named(A) == list_named(B)
    assert hash(list_named(A)) == hash(list_named(B))
    other = Constructor("Kons", (A, LIST(A)), LIST), Constructor("Nil", (), LIST)
    assert TypeData(LIST, (A,), other) != LIST_DATA
    assert str(LIST_DATA) == "type List[A] { Cons(A, List[A]), Nil }"


def test_tags_are_told_by_names_and_count_up():
    assert NIL.tag == CONS.tag + 1
    assert [one.tag for one in list_named(B).constructors] == [CONS.tag, NIL.tag]
    assert Constructor("Nil", (), LIST).tag == -1


@pytest.mark.parametrize(
    ("constructors", "message"),
    [
        ([Constructor("C", (B,), LIST)], "free type variables: 'B'"),
        ([NIL, Constructor("Nil", (), LIST)], "two constructors of one name"),
        ([Constructor("C", (), GlobalTypeVar("T"))], "of type 'T'"),
    ],
)
def test_a_definition_that_is_none_is_refused(
    constructors: list[Constructor], message: str
):
    with pytest.raises(IRTypeError, match=message):
        TypeData(LIST, (A,), constructors)


def test_types_in_each_other_are_bounded():
    typ: Type = INT
    for _ in range(MAX_TYPE_DEPTH):
        typ = LIST(typ)
    with pytest.raises(SizeLimitError):
        LIST(typ)


def test_a_module_knows_types_by_name_and_constructors_by_tag():
    mod = with_lists()
    assert mod.get_global_type_var("List") is LIST
    assert mod.get_type("List") == (LIST, CONS, NIL)
    assert mod.get_constructor(NIL.tag) is NIL
    assert mod[LIST] is mod.type_definitions[LIST] is LIST_DATA
    assert LIST in mod
    assert mod.get_global_type_vars() == [LIST]
    for unknown in (lambda: mod.get_type("Lisp"), lambda: mod.get_constructor(7)):
        with pytest.raises(UnknownGlobalError):
            unknown()


def test_constructors_of_two_types_have_different_names():
    other = GlobalTypeVar("Other")
    definition = TypeData(other, (), [Constructor("Nil", (), other)])
    with pytest.raises(ModuleError, match="one of type 'List' already"):
        with_lists()[other] = definition


def test_an_update_brings_definitions_along():
    mod = IRModule()
    mod.update(with_lists())
    assert mod.type_definitions == {LIST: LIST_DATA}


def test_modules_are_equal_if_their_types_are():
    with_types, without = with_lists(), IRModule()
    assert not structural_equal(with_types, without)
    assert structural_hash(with_types) != structural_hash(without)
    mod = IRModule(type_definitions={LIST: list_named(B)})
    assert_structural_equal(mod, with_types)
    assert structural_hash(mod) == structural_hash(with_types)


def pickled(mod: IRModule) -> IRModule:
    return pickle.loads(pickle.dumps(mod))


def saved(mod: IRModule) -> IRModule:
    return load_json(save_json(mod))


@pytest.mark.parametrize("again", [pickled, saved])
def test_a_module_with_types_comes_back(again: Callable[[IRModule], IRModule]):
    mod = with_lists(main=Function((), Call(NIL, ())))
    back = again(mod)
    assert_structural_equal(back, mod)
    body = back["main"].body
    assert body.op is back.get_type("List")[2]
    assert body.op.tag == NIL.tag


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"type_definitions":[', '"type_definitions":[0,'),
        ('"Nil"', '"Cons"'),
        ('{"TypeVar":{"name_hint":"A"', '{"TypeVar":{"name_hint":3'),
    ],
)
def test_json_that_is_no_definition_is_refused(before: str, after: str):
    text = save_json(with_lists())
    text = text.replace("relay.TypeVar", "TypeVar") if "TypeVar" in before else text
    assert before in text
    with pytest.raises(MalformedJSONError):
        load_json(text.replace(before, after))
