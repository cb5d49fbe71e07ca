from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function, GlobalVar, Tuple, var
from parpass.relay.transform import EtaExpand
from tests.support.deep import ALL_KINDS, DEEPEST, function_of

DOUBLE, MAIN = GlobalVar("double"), GlobalVar("main")
x = var("x", "float32")
DOUBLING = Function((x,), relay.add(x, x), x.type_annotation)


def test_it_is_a_module_pass_of_level_1_7_13() -> None:
    info = EtaExpand().info
    assert (info.name, info.opt_level, tuple(info.required)) == ("EtaExpand", 1, ())


def test_calls_stay_the_same_objects() -> None:
    body = Tuple((DOUBLE(x), DOUBLE))
    mod = IRModule({DOUBLE: DOUBLING, MAIN: Function((x,), body)})
    found = EtaExpand(expand_global_var=True)(mod)["main"].body
    assert isinstance(found, Tuple)
    assert found.fields[0] is body.fields[0]


@pytest.mark.stress
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_programs_may_be_deep(kind: Callable[[int], Expr]) -> None:
    mod = IRModule({"main": function_of(kind(DEEPEST))})
    assert EtaExpand(expand_global_var=True)(mod) is mod
