from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import ArgumentError, UnknownGlobalError
from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function, GlobalVar
from parpass.relay.transform import RemoveUnusedFunctions
from parpass.transform import PassContext
from tests.support.docs import shows


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


def test_the_documented_module_loses_its_unused_function() -> None:
    x, used = relay.var("x", "float32"), GlobalVar("used")
    mod = IRModule({"main": Function((x,), used(x))})
    mod[used] = Function((x,), relay.negative(x))
    mod["unused"] = Function((x,), used(x))
    assert shows(RemoveUnusedFunctions, mod, RemoveUnusedFunctions()(mod))


def test_what_main_cannot_reach_is_removed() -> None:
    mod = module(unused="used", main="used", used="deeper", deeper="", lonely="")
    result = RemoveUnusedFunctions()(mod)
    assert list(result.functions_by_name) == ["main", "used", "deeper"]
    assert result["used"] is mod["used"]
    assert result.get_global_var("used") is mod.get_global_var("used")


def test_the_given_module_stays_as_it_was() -> None:
    mod = module(main="", unused="")
    RemoveUnusedFunctions()(mod)
    assert list(mod.functions_by_name) == ["main", "unused"]


def test_other_entry_functions_may_be_given() -> None:
    mod = module(main="", first="shared", second="shared", shared="")
    result = RemoveUnusedFunctions(entry_functions=["second", "first"])(mod)
    assert list(result.functions_by_name) == ["first", "second", "shared"]


def test_functions_that_call_each_other_do_not_keep_each_other() -> None:
    mod = module(main="main", ping="pong", pong="ping")
    assert list(RemoveUnusedFunctions()(mod).functions_by_name) == ["main"]


def test_a_module_without_unused_functions_is_the_same_object() -> None:
    mod = module(main="used", used="")
    assert RemoveUnusedFunctions()(mod) is mod


def test_dropped_functions_are_counted() -> None:
    context = PassContext()
    with context:
        RemoveUnusedFunctions()(module(main="", a="", b=""))
    assert context.statistics["RemoveUnusedFunctions"] == {"dropped": 2}


def test_an_unknown_entry_function_is_an_error_with_the_nearest_names() -> None:
    mod = module(main="")
    with pytest.raises(UnknownGlobalError) as caught:
        RemoveUnusedFunctions(["mian"])(mod)
    assert str(caught.value) == (
        "the module has no function named 'mian'; did you mean 'main'?"
    )


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
