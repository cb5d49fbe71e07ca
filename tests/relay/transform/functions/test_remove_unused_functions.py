from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function, GlobalVar
from parpass.relay.transform import RemoveUnusedFunctions


def module(**calls: str) -> IRModule:
    """Return a module with a function for each name, calling those listed."""
    names = {name: GlobalVar(name) for name in calls}
    mod = IRModule()
    for name, callees in calls.items():
        body: Expr = relay.const(1.0)
        for callee in callees.split():
            body = relay.add(body, names[callee]())
        mod[names[name]] = Function((), body)
    return mod


def test_what_stays_are_the_same_objects() -> None:
    mod = module(unused="used", main="used", used="")
    result = RemoveUnusedFunctions()(mod)
    assert result["used"] is mod["used"]
    assert result.get_global_var("used") is mod.get_global_var("used")


def test_the_given_module_stays_as_it_was() -> None:
    mod = module(main="", unused="")
    RemoveUnusedFunctions()(mod)
    assert list(mod.functions_by_name) == ["main", "unused"]


def test_one_name_in_the_place_of_a_list_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"write \['main'\]"):
        RemoveUnusedFunctions("main")


def test_it_is_a_module_pass_of_level_1_7_13() -> None:
    info = RemoveUnusedFunctions().info
    assert (info.name, info.opt_level, tuple(info.required)) == (
        "RemoveUnusedFunctions",
        1,
        (),
    )


def test_a_chain_of_thousands_of_functions_is_followed() -> None:
    count = 3000
    calls = {f"f{at}": f"f{at + 1}" for at in range(count)}
    mod = module(main="f0", **calls, **{f"f{count}": ""}, unused="")
    assert len(RemoveUnusedFunctions()(mod)) == count + 2
