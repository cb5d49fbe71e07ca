from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import assert_structural_equal
from parpass.ir.types.ty import TypeVar
from parpass.relay.expr import Expr, Function, GlobalVar, Tuple, Var, var
from parpass.relay.transform import EtaExpand
from tests.support.deep import ALL_KINDS, DEEPEST, function_of
from tests.support.docs import shows

DOUBLE, MAIN = GlobalVar("double"), GlobalVar("main")
x = var("x", "float32")
DOUBLING = Function((x,), relay.add(x, x), x.type_annotation)


def test_the_documented_reference_is_wrapped() -> None:
    before = IRModule({DOUBLE: DOUBLING, MAIN: Function((), DOUBLE)})
    y = var("x", "float32")
    closure = Function((y,), DOUBLE(y), y.type_annotation)
    expected = IRModule({DOUBLE: DOUBLING, MAIN: Function((), closure)})
    after = EtaExpand(expand_global_var=True)(before)
    assert_structural_equal(after, expected)
    assert shows(EtaExpand, before, after)


def test_it_is_a_module_pass_of_level_1_7_13() -> None:
    info = EtaExpand().info
    assert (info.name, info.opt_level, tuple(info.required)) == ("EtaExpand", 1, ())


def test_calls_stay_and_arguments_are_wrapped() -> None:
    f = Var("f")
    body = Tuple((DOUBLE(x), f(DOUBLE)))
    mod = IRModule({DOUBLE: DOUBLING, MAIN: Function((x, f), body)})
    found = EtaExpand(expand_global_var=True)(mod)["main"].body
    assert isinstance(found, Tuple)
    assert found.fields[0] is body.fields[0]
    y = var("y", "float32")
    closure = Function((y,), DOUBLE(y), y.type_annotation)
    assert_structural_equal(found.fields[1], f(closure))


def test_type_parameters_are_handed_on() -> None:
    t = TypeVar("T")
    p = Var("p", t)
    mod = IRModule({DOUBLE: Function((p,), p, t, (t,)), MAIN: Function((), DOUBLE)})
    found = EtaExpand(expand_global_var=True)(mod)["main"].body
    assert isinstance(found, Function)
    assert found.type_params == (t,)
    relay.transform.InferType()(IRModule({DOUBLE: mod["double"], MAIN: found}))


@pytest.mark.parametrize("expand", [False, True])
def test_without_references_the_module_is_the_same_object(expand: bool) -> None:
    body: Expr = DOUBLE(x) if expand else DOUBLE
    mod = IRModule({DOUBLE: DOUBLING, MAIN: Function((x,), body)})
    assert EtaExpand(expand_global_var=expand)(mod) is mod


@pytest.mark.stress
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_programs_may_be_deep(kind: Callable[[int], Expr]) -> None:
    mod = IRModule({"main": function_of(kind(DEEPEST))})
    assert EtaExpand(expand_global_var=True)(mod) is mod
