"""Contract section 6b: passes over PrimFuncs, and PrimFuncs among Relay's functions."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from parpass import relay, tir
from parpass.ir.module import IRModule
from parpass.tir.transform import PrimFuncPass, prim_func_pass
from parpass.transform import PassContext
from tests.contract.marking import Mark, Run, identity, marks
from tests.support.watching import InfoLog

NAMES = ("k", "l", "m")


def prim_func(**attrs: Any) -> tir.PrimFunc:
    """Return a function that does nothing."""
    return tir.PrimFunc([], tir.Evaluate(0)).with_attr(attrs)


def mixed(**functions: Any) -> IRModule:
    """Return a module of PrimFuncs and one function of Relay, which comes first."""
    named = {name: prim_func() for name in NAMES}
    return IRModule({"main": identity(), **named, **functions})


@prim_func_pass(opt_level=0)
def see_others(func: tir.PrimFunc, mod: IRModule, ctx: PassContext) -> tir.PrimFunc:
    """Attach what the pass sees of the marks on the module's PrimFuncs."""
    seen = [mod[name].attributes.get("seen", "") for name in NAMES]
    return func.with_attr("seen", "".join(f"[{one}]" for one in seen))


def test_6_5_prim_funcs_are_carried_over_untouched(run: Run):
    mod = mixed()
    after = run(Mark("M"), mod)
    assert marks(after) == "M"
    assert all(after[name] is mod[name] for name in NAMES)


def test_6_13_the_module_is_never_changed_in_place(run: Run):
    mod = mixed()
    before = dict(mod.functions_by_name)
    after = run(see_others, mod)
    assert dict(mod.functions_by_name) == before
    assert after is not mod
    assert after["main"] is mod["main"]


def test_14_7_bodies_do_not_see_earlier_updates(run: Run):
    after = run(see_others, mixed())
    assert [after[name].attributes["seen"] for name in NAMES] == ["[][][]"] * 3


def test_6_14_none_deletes_no_function(run: Run):
    @prim_func_pass(opt_level=0)
    def nothing(func: tir.PrimFunc, mod: IRModule, ctx: PassContext) -> Any:
        return None

    mod = mixed()
    with pytest.raises(TypeError, match=r"'nothing' must return a PrimFunc .* 'k'"):
        run(nothing, mod)
    assert list(mod.functions_by_name) == ["main", *NAMES]


def test_6_15_no_types_are_inferred_and_no_attribute_skips_a_function(run: Run):
    log = InfoLog()
    skipped = prim_func(SkipOptimization=1, Compiler="any", Extern=1)
    with PassContext(instruments=[log]):
        after = run(see_others, mixed(k=skipped))
    assert log.names == ["see_others"]
    assert "seen" in after["k"].attributes
    assert after["main"].checked_type_ is None


def test_6_16_the_decorator_mirrors_function_pass(run: Run):
    assert tir.transform.prim_func_pass is prim_func_pass

    @prim_func_pass(opt_level=2, name="N", required=["InferType"])
    class Tag:
        def __init__(self, tag: str) -> None:
            self.tag = tag

        def transform_function(
            self, func: tir.PrimFunc, mod: IRModule, ctx: PassContext
        ) -> tir.PrimFunc:
            return func.with_attr("tag", self.tag)

    made = Tag("t")
    assert isinstance(made, PrimFuncPass)
    info = made.info
    assert (info.opt_level, info.name, info.required) == (2, "N", ("InferType",))
    assert run(made, mixed())["l"].attributes["tag"] == "t"
    names = ["pass_func", "opt_level", "name", "required"]
    assert list(inspect.signature(prim_func_pass).parameters)[:4] == names
    assert str(made) == "Run Function pass: N at the optimization level 2"
    assert relay.transform.FunctionPass in type(made).__mro__
