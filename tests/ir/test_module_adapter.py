"""A module has functions of several IRs; a function pass sees those of its own."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import relay
from parpass.instrument import pass_instrument
from parpass.ir.module import IRModule
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.ir.node import Node
from parpass.ir.op.op_table import Op
from parpass.ir.structural import assert_structural_equal
from parpass.relay.transform import FoldConstant, InferType
from parpass.runner import Runner
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
)
from tests.ir import toy_tenant as toy
from tests.support.runner.pooled import run_pooled

ADD = Op.get("add")
ADAPTER = IRModuleAdapter()


def module(each: int = 3) -> IRModule:
    mod = IRModule()
    for at in range(each):
        x = relay.Var("x", relay.TensorType((2,)))
        folded = relay.add(relay.const(1.0), relay.const(2.0))
        mod[f"relay_{at}"] = relay.Function((x,), relay.add(x, folded))
        y = toy.Var("y", toy.TensorType((2,)))
        mod[f"toy_{at}"] = toy.Function((y,), toy.Call(ADD, (y, y)))
    return mod


class _Doubled(toy.ToyMutator):
    def visit_call(self, call: toy.Call) -> Node:
        return toy.Call(call.op, (*call.args, *call.args))


class Double(FunctionPass):
    """Has each operator of a toy function take its arguments twice."""

    pass_info = PassInfo(0, "Double")
    function_kind = "toy"

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
        return _Doubled().visit(func)


@function_pass(opt_level=0)
def see(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    return func.with_attr("seen", 1)


def seen(mod: IRModule) -> list[str]:
    return [n for n, f in mod.functions_by_name.items() if "seen" in f.attributes]


def test_a_pass_that_names_no_kind_sees_relays_functions_alone():
    assert seen(see(module())) == ["relay_0", "relay_1", "relay_2"]


def test_a_pass_of_another_kind_sees_its_functions_alone():
    mod = InferType()(module())
    after = Double()(mod)
    assert str(after["toy_1"]) == "add(y, y, y, y)"
    assert after["relay_1"] is mod["relay_1"]


def test_types_are_inferred_after_relays_passes_and_not_after_others():
    entered: list[str] = []

    @pass_instrument
    class Watch:
        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            entered.append(info.name)

    with PassContext(instruments=[Watch()]):
        Sequential([Double(), see])(module())
    assert entered == ["sequential", "Double", "see", "InferType"]


PIPELINES: list[list[Pass | None]] = [
    [Double()],
    [FoldConstant(), Double(), see, Double()],
    [InferType(), Double(), FoldConstant()],
]


@pytest.mark.parametrize("passes", PIPELINES)
def test_workers_make_the_same_of_both_kinds(runner: Runner, passes: list[Pass | None]):
    pipeline, mod = Sequential(passes), module()
    serial, parallel = pipeline(mod), run_pooled(runner, pipeline, mod)
    assert_structural_equal(parallel, serial)
    assert [type(f) for f in parallel.functions_by_name.values()] == [
        type(f) for f in serial.functions_by_name.values()
    ]


def test_passes_on_different_kinds_are_one_stage(runner: Runner):
    run_pooled(runner, Sequential([FoldConstant(), Double(), see]), module())
    assert runner.last_report is not None
    assert runner.last_report.stages == 1


@function_pass(opt_level=0)
def lower(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    """Make a toy function of a Relay one."""
    params = tuple(toy.Var(param.name_hint) for param in func.params)
    return toy.Function(params, toy.Call(ADD, params))


def test_a_function_that_becomes_another_kind_is_seen_by_passes_of_that(
    runner: Runner,
):
    pipeline, mod = Sequential([InferType(), lower, Double()]), module()
    serial, parallel = pipeline(mod), run_pooled(runner, pipeline, mod)
    assert str(serial["relay_0"]) == "add(x, x)"
    assert_structural_equal(parallel, serial)


def test_a_function_that_changes_its_kind_changes_its_signature():
    mod = InferType()(module(1))
    assert not ADAPTER.keeps_signature(mod["relay_0"], mod["toy_0"])
    assert ADAPTER.keeps_signature(mod["toy_0"], mod["relay_0"])


def test_a_function_of_an_ir_that_names_no_kind_is_seen_by_no_pass(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(toy.ToyTenant, "function_kind", None)
    mod = InferType()(module())
    assert Sequential([Double(), see])(mod)["toy_0"] is mod["toy_0"]


def test_an_excerpt_has_the_functions_of_all_kinds_that_one_needs():
    mod = module(1)
    x = toy.Var("x")
    mod["caller"] = toy.Function(
        (x,), toy.Call(mod.get_global_var("relay_0"), (toy.Call(ADD, (x,)),))
    )
    needed = ADAPTER.program_slice(mod, "toy_0")
    assert "toy_0" in needed.text
