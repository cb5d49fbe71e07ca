"""Contract section 10: what passes rely on in an IRModule."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import relay
from parpass.errors import ModuleError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal, structural_equal
from parpass.relay.expr import Call, Function, GlobalVar
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    Sequential,
)
from tests.contract.marking import Mark, Observe, Run, identity, marked, marks, module


def caller(var: GlobalVar) -> Function:
    """Return a function that calls a global one."""
    x = relay.var("x", shape=(2,))
    return Function((x,), var(x))


def callee(function: Function) -> GlobalVar:
    assert isinstance(function.body, Call)
    assert isinstance(function.body.op, GlobalVar)
    return function.body.op


def test_10_1_functions_come_by_name_or_global_variable(run: Run):
    f = GlobalVar("f")
    mod = IRModule({f: identity(), "g": identity()})
    assert mod.get_global_var("f") is f
    assert marks(run(Mark("M"), mod), "g") == "M"
    assert len(IRModule()) == 0
    with pytest.raises(TypeError, match="expected a GlobalVar or a name"):
        IRModule({7: identity()})
    with pytest.raises(ModuleError, match="another global variable named 'f'"):
        IRModule({GlobalVar("f"): identity(), GlobalVar("f"): identity()})


def test_10_2_a_missing_name_lists_the_candidates():
    mod = module("main", "other")
    with pytest.raises(ValueError, match="named 'xyzzy'; it has 'main', 'other'"):
        mod["xyzzy"]
    with pytest.raises(ValueError, match="did you mean 'main'"):
        mod.get_global_var("mian")


def test_10_2_a_global_variable_must_be_the_modules_own(run: Run):
    mod = run(Mark("M"), module())
    assert mod[mod.get_global_var("main")] is mod["main"]
    with pytest.raises(ModuleError, match="another global variable named 'main'"):
        mod[GlobalVar("main")]


def test_10_2_a_body_looks_up_what_its_function_refers_to(run: Run):
    f = GlobalVar("f")
    mod = IRModule({"g": caller(f), f: identity()})

    def look(func: Function, seen: IRModule, _ctx: PassContext) -> str:
        called = [node for node in post_order(func) if isinstance(node, GlobalVar)]
        return str([marks(seen, "f") for var in called if seen[var] is seen["f"]])

    pipeline = Sequential([Observe(look), Mark("M"), Observe(look)])
    assert marks(run(pipeline, mod), "g") == "[''] M ['[] M']"


def test_10_3_assignment_wraps_and_expands(run: Run):
    mod = module()
    old = mod.get_global_var("main")
    mod["main"] = marked(identity(), "new")
    assert mod.get_global_var("main") is old
    with pytest.raises(ModuleError):
        mod[GlobalVar("main")] = identity()
    assert marks(mod) == "new"
    mod["wrapped"] = relay.const(1)
    assert mod["wrapped"].params == ()
    mod["expanded"] = old
    assert_structural_equal(mod["expanded"], caller(old))
    with pytest.raises(TypeError, match="expected a function of an IR for 'wrong'"):
        mod["wrong"] = 7
    typed = run(relay.transform.InferType(), mod)
    assert typed["expanded"].ret_type == typed["main"].ret_type


def test_10_4_a_function_with_free_variables_is_refused():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = module()
    with pytest.raises(ModuleError, match="'f' has free variables: 'y'"):
        mod["f"] = Function((x,), relay.add(x, y))
    assert "f" not in mod
    a = relay.TypeVar("a")
    p = relay.var("p", a)
    with pytest.raises(ModuleError, match="'f' has free type variables: 'a'"):
        mod["f"] = Function((p,), p)
    mod["f"] = Function((p,), p, a, (a,))
    mod["f"] = identity()
    assert len(mod["f"].params) == 1


class Update(ModulePass):
    """Takes over the functions of another module."""

    pass_info = PassInfo(0, "Update")

    def __init__(self, other: Any) -> None:
        self.other = other

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        new = mod.copy()
        new.update(self.other)
        return new


def test_10_5_update_keeps_global_variables_and_points_to_them(run: Run):
    mod = module("f", "mine")
    theirs = GlobalVar("f")
    other = IRModule({theirs: marked(identity(), "theirs"), "g": caller(theirs)})
    result = run(Update(other), mod)
    assert marks(result, "f") == "theirs"
    assert result.get_global_var("f") is mod.get_global_var("f")
    assert callee(result["g"]) is mod.get_global_var("f")
    assert result.get_global_var("g") is other.get_global_var("g")
    assert callee(other["g"]) is theirs
    assert list(result.functions_by_name) == ["f", "mine", "g"]


def test_10_5_workers_give_references_to_the_modules_own(run: Run):
    f = GlobalVar("f")
    mod = IRModule({"g": caller(f), f: identity()})
    result = run(Sequential([Mark("M"), Mark("N")]), mod)
    assert callee(result["g"]) is f
    assert result.get_global_var("f") is f
    assert marks(result, "g") == "M N"


def test_10_5_references_that_a_body_makes_become_the_modules_own(run: Run):
    class CallF(FunctionPass):
        pass_info = PassInfo(0, "CallF")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            return func if ctx.function_name == "f" else caller(GlobalVar("f"))

    mod = module("f", "g")
    result = run(CallF(), mod)
    assert callee(result["g"]) is mod.get_global_var("f")


def test_10_6_from_expr_finds_a_name_and_binds_free_variables():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    body = relay.add(x, y)
    assert IRModule.from_expr(body)["main"].params == (x, y)
    named = identity(global_symbol="f")
    assert list(IRModule.from_expr(named).functions_by_name) == ["f"]
    taken = IRModule.from_expr(identity(), {"main": identity()})
    assert list(taken.functions_by_name) == ["main", "main_1"]


def test_10_6_a_pass_may_be_called_on_an_expression(run: Run):
    x = relay.var("x", shape=(2,))
    transform = relay.transform
    two = relay.add(relay.const(1.0), relay.const(1.0))
    result = run(transform.FoldConstant(), relay.multiply(x, two))
    assert_structural_equal(result.args[1], relay.const(2.0))
    function = Function((x,), relay.negative(x))
    pipeline = Sequential([transform.InferType(), Mark("M")])
    result = run(pipeline, function)
    assert isinstance(result, Function)
    vector = relay.TensorType((2,))
    assert result.checked_type == relay.FuncType((vector,), vector)
    assert run(transform.RemoveUnusedFunctions(), function) is function


def test_10_7_equality_is_identity(run: Run):
    mod = module()
    assert mod != mod.copy()
    assert structural_equal(mod, mod.copy())
    assert_structural_equal(run(Mark(), mod), run(Mark(), mod.copy()))


def test_10_8_a_copy_shares_functions_and_is_written_alone(run: Run):
    mod = IRModule({"f": identity()}, attrs={"a": 1}, sources={"s": "text"})
    copy = mod.copy()
    assert copy["f"] is mod["f"]
    assert copy.get_global_var("f") is mod.get_global_var("f")
    assert (copy.attrs, copy.sources) == (mod.attrs, mod.sources)
    copy["f"] = marked(identity(), "new")
    copy["g"] = identity()
    assert marks(mod, "f") == ""
    assert "g" not in mod
    assert run(Mark("M"), mod).attrs == mod.attrs
    assert run(Mark("M"), mod).sources == mod.sources
