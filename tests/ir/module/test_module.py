from __future__ import annotations

import copy
from typing import Any

import pytest

from parpass.diagnostic import Diagnostic, Span, format_diagnostic
from parpass.errors import (
    ModuleError,
    ModuleTypeError,
    ReadOnlyModuleError,
    UnknownGlobalError,
)
from parpass.ir.module import IRModule
from parpass.relay.expr import Function, GlobalVar, Var, const
from parpass.relay.text.parser import parse
from tests.support.relay.programs import call_op

X, Y = Var("x"), Var("y")
F, G = Function((X,), X), Function((Y,), Y)


def test_functions_are_found_by_name_and_by_global_variable():
    f = GlobalVar("f")
    module = IRModule({f: F, "g": G})
    assert module["f"] is module[f] is F
    assert module["g"] is G
    assert "f" in module
    assert f in module
    assert "h" not in module
    assert module.get_global_var("f") is f
    assert len(module) == 2


def test_functions_stay_in_the_order_in_which_they_were_added():
    module = IRModule({"b": F, "a": G})
    assert [var.name_hint for var in module] == ["b", "a"]
    assert list(module.functions_by_name) == ["b", "a"]
    assert [var.name_hint for var in module.functions] == ["b", "a"]
    assert [var.name_hint for var in module.get_global_vars()] == ["a", "b"]


def test_an_unknown_name_is_an_error_with_the_nearest():
    module = IRModule({"main": F})
    for look_up in (module.__getitem__, module.get_global_var, module.remove):
        with pytest.raises(UnknownGlobalError, match=r"named 'mian'.*'main'"):
            look_up("mian")


def test_two_global_variables_of_one_name_are_refused():
    module = IRModule({GlobalVar("f"): F})
    with pytest.raises(ModuleError, match="another global variable named 'f'"):
        module[GlobalVar("f")] = G
    module["f"] = G
    assert module["f"] is G


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([F], "expected functions as a mapping .* got list"),
        ({1: F}, "expected a GlobalVar or a name for a key, got int"),
        ({"f": 1}, r"expected a function of an IR for 'f', .*got int"),
    ],
)
def test_what_is_no_function_or_name_is_refused(functions: Any, message: str):
    with pytest.raises(ModuleTypeError, match=message):
        IRModule(functions)


def test_an_expression_becomes_the_body_of_a_function():
    body = const(1)
    module = IRModule({"f": body})
    assert module["f"].params == ()
    assert module["f"].body is body


def test_update_takes_over_functions_and_keeps_global_variables():
    module = IRModule({"f": F})
    mine = module.get_global_var("f")
    module.update(IRModule({"f": G, "g": G}, sources={"file": "text"}))
    assert module["f"] is G
    assert module.get_global_var("f") is mine
    assert module.sources == {"file": "text"}
    module.update({"h": F})
    module.update_func(mine, F)
    assert (module["h"], module["f"]) == (F, F)


def test_of_two_texts_of_one_name_none_is_shown():
    module = IRModule({"f": F}, sources={"file": "text", "other": "text"})
    module.update(IRModule({"g": G}, sources={"file": "another text", "other": "text"}))
    module.update(IRModule({"g": G}, sources={"file": "text"}))
    assert module.sources == {"file": "", "other": "text"}
    parsed = parse("def @h(%x: int64) { %x }", "other", module)
    assert parsed.sources == {"file": "", "other": ""}
    error = Diagnostic.error(Span("other", 1, 1, 1, 2), "it is wrong")
    shown = format_diagnostic(error, parsed.sources["other"])
    assert shown == "error: it is wrong\n --> other:1:1"


def test_remove_takes_a_function_out():
    module = IRModule({"f": F, "g": G})
    module.remove("f")
    assert list(module.functions_by_name) == ["g"]


def test_a_module_that_is_given_to_read_cannot_be_written_to():
    shown = IRModule.assemble(IRModule({"f": F}), {"f": F}, reader="MyPass")
    assert shown["f"] is F
    for write in (
        lambda: shown.update_func(shown.get_global_var("f"), G),
        lambda: shown.remove("f"),
        lambda: shown.update({"g": G}),
    ):
        with pytest.raises(ReadOnlyModuleError, match="'MyPass'") as caught:
            write()
        assert caught.value.pass_name == "MyPass"
    shown.copy()["g"] = G


def test_repr_is_short_and_str_is_the_text():
    module = IRModule({f"f{at}": F for at in range(7)})
    assert repr(module) == "IRModule(7 functions: f0, f1, f2, f3, f4, ...)"
    assert str(module).startswith("def @f0(%x) {")


def test_copies_are_other_modules_with_the_same_functions():
    module = IRModule({"f": F}, {}, {"n": 1}, {"m.relay": "text"})
    for again in (copy.copy(module), copy.deepcopy(module), module.copy()):
        assert again is not module
        assert again["f"] is F
        assert again.get_global_var("f") is module.get_global_var("f")
        assert (again.attrs, again.sources) == (module.attrs, module.sources)
        again["g"] = G
    assert "g" not in module


def test_nodes_are_their_own_copies():
    function = Function((X,), call_op("abs", X))
    assert copy.copy(function) is copy.deepcopy(function) is function
    assert copy.deepcopy([X, function])[0] is X
