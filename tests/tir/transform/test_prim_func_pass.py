"""Passes on PrimFuncs: of functions, of classes, in process and in workers."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from parpass import IRModule, relay, tir
from parpass.ir.structural import assert_structural_equal
from parpass.runner import Runner
from parpass.tir.transform import Apply, PrimFuncPass, prim_func_pass
from parpass.transform import PassContext, Sequential, function_pass
from tests.support.runner.pooled import run_pooled


def adder(n: Any = 4) -> tir.PrimFunc:
    i, buffer = tir.Var("i"), tir.decl_buffer((8,), "int32", "A")
    stored = tir.BufferStore(buffer, tir.BufferLoad(buffer, [i]) + 1, [i])
    return tir.PrimFunc((buffer,), tir.For(i, 0, n, tir.ForKind.SERIAL, stored))


def mixed() -> IRModule:
    x = relay.Var("x", relay.TensorType((2,)))
    functions = {f"loops_{at}": adder(at) for at in range(3)}
    return IRModule({"main": relay.Function((x,), relay.add(x, x)), **functions})


@prim_func_pass(opt_level=1)
def mark(func: tir.PrimFunc, mod: IRModule, ctx: PassContext) -> tir.PrimFunc:
    return func.with_attr("seen", True)


@prim_func_pass(opt_level=1)
class Replace:
    """Puts one function in the place of all."""

    def __init__(self, new: tir.PrimFunc) -> None:
        self.new = new

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
        return self.new


def test_a_pass_of_a_function_sees_prim_funcs_alone():
    after = mark(mixed())
    seen = [n for n, f in after.functions_by_name.items() if "seen" in f.attributes]
    assert seen == ["loops_0", "loops_1", "loops_2"]


def test_relays_passes_leave_prim_funcs_alone():
    @function_pass(opt_level=0)
    def see(func: Any, mod: IRModule, ctx: PassContext) -> Any:
        assert isinstance(func, relay.Function)
        return func

    mod = mixed()
    assert see(mod)["loops_1"] is mod["loops_1"]


def test_a_pass_of_a_class_takes_the_arguments_of_its_constructor():
    made = Replace(adder(7))
    assert isinstance(made, PrimFuncPass)
    assert made.info.name == "Replace"
    assert made.info.opt_level == 1
    assert made(IRModule({"f": adder()}))["f"] is made.new


def test_a_pass_without_a_level_is_refused():
    with pytest.raises(ValueError, match="opt_level for the prim_func pass"):
        prim_func_pass(mark.pass_func)


def test_apply_gives_each_prim_func_to_a_function():
    after = Apply(lambda func: func.with_attr("tir.noalias", True))(mixed())
    assert after["loops_2"].attrs == {"tir.noalias": True}


def test_workers_make_the_same_of_both_kinds(runner: Runner):
    pipeline, mod = Sequential([mark, relay.transform.FoldConstant(), mark]), mixed()
    serial, parallel = pipeline(mod), run_pooled(runner, pipeline, mod)
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert runner.last_report is not None
    assert runner.last_report.stages == 1


def test_variables_that_a_function_does_not_bind_come_back_as_themselves(
    runner: Runner,
):
    n = tir.SizeVar("n")
    mod = IRModule({f"f{at}": adder(n + at) for at in range(4)})
    serial, parallel = mark(mod), run_pooled(runner, mark, mod)
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert all(parallel[f"f{at}"].body.extent.a is n for at in range(1, 4))


def test_variables_that_a_pass_holds_are_those_of_the_program(runner: Runner):
    n = tir.SizeVar("n")
    mod = IRModule({f"f{at}": adder(n + at) for at in range(4)})

    @prim_func_pass(opt_level=0)
    def of_sixteen(func: Any, mod: IRModule, ctx: PassContext) -> Any:
        return func.with_body(tir.stmt_functor.substitute(func.body, {n: 16}))

    serial, parallel = of_sixteen(mod), run_pooled(runner, of_sixteen, mod)
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert int(parallel["f2"].body.extent.a) == 16


def test_a_variable_is_itself_after_a_round_through_bytes():
    kept = tir.SizeVar("n", "int64")
    assert pickle.loads(pickle.dumps(kept)) is kept
    encoded, token = pickle.dumps(tir.Var("gone", "float32")), pickle.dumps(kept)
    again = pickle.loads(encoded)
    assert (type(again), again.name, again.dtype) == (tir.Var, "gone", "float32")
    assert pickle.loads(token) is kept
