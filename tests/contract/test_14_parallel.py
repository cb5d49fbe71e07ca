"""Contract section 14: what the contract means for a parallel run."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from parpass.errors import ReadOnlyModuleError
from parpass.instrument import PassTimingInstrument
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.contract.marking import Mark, Observe, Raise, Run, identity, marks, module
from tests.support.runner.failing import UserError
from tests.support.watching import InfoLog, Log

NAMES = [f"f{at}" for at in range(8)]


@pytest.mark.parametrize("run", ["parallel"], indirect=True)
def test_14_0_the_parallel_driver_of_these_tests_does_use_workers(run: Run):
    processes = run(Observe(lambda _f, _m, _c: os.getpid()), module(*NAMES))
    assert str(os.getpid()) not in {marks(processes, name) for name in NAMES}


def test_14_1_bodies_see_one_snapshot_and_cannot_write_to_it(run: Run):
    class Take(FunctionPass):
        pass_info = PassInfo(0, "Take")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            mod["main"] = identity()
            return func

    mod = module(*NAMES)
    seen = run(Observe(lambda _f, m, _c: {marks(m, name) for name in NAMES}), mod)
    assert {marks(seen, name) for name in NAMES} == {"{''}"}
    with pytest.raises(ReadOnlyModuleError):
        run(Take(), mod)


def test_14_2_hooks_are_called_for_passes_and_not_for_functions(run: Run):
    log = Log()
    with PassContext(instruments=[log]):
        run(Mark("M"), module(*NAMES))
    assert set(Counter(log.log).values()) == {1}
    assert [call for call in log.log if "before" in call] == (
        ["before M", "before InferType"]
    )


def test_14_3_the_first_failing_function_in_order_is_raised(run: Run):
    class FailOdd(FunctionPass):
        pass_info = PassInfo(0, "FailOdd")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            number = int(str(ctx.function_name)[1:])
            if number % 2:
                raise UserError("odd", number)
            return func

    log = Log()
    mod = module(*NAMES)
    with pytest.raises(UserError) as caught, PassContext(instruments=[log]):
        run(FailOdd(), mod)
    assert caught.value.code == 1
    assert not [call for call in log.log if call.startswith("after")]
    assert all(marks(mod, name) == "" for name in NAMES)


def test_14_4_bodies_run_under_the_callers_context_without_its_hooks(run: Run):
    class Calls(FunctionPass):
        pass_info = PassInfo(0, "Calls")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            assert PassContext.current().same_as(ctx)
            return Sequential([Mark("A"), Mark("B", 3)])(func)

    log = InfoLog()
    with PassContext(opt_level=3, instruments=[log]):
        result = run(Calls(), module(*NAMES))
    assert {marks(result, name) for name in NAMES} == {"A B"}
    assert log.names == ["Calls", "InferType"]


def test_14_5_passes_travel_with_their_bodies(run: Run):
    captured = "closure"
    result = run(Observe(lambda _f, _m, _c: captured), module(*NAMES))
    assert {marks(result, name) for name in NAMES} == {"closure"}


def test_14_6_the_profile_is_one_tree_and_is_unwound(run: Run):
    timing = PassTimingInstrument()
    pipeline = Sequential([Mark("A"), Raise(ValueError("bad"), only="f7")], name="s")
    with PassContext(instruments=[timing]), pytest.raises(ValueError, match="bad"):
        run(pipeline, module(*NAMES))
    [outer] = timing.profiles
    children = [(child.name, len(child.children)) for child in outer.children]
    assert children == [("A", 1), ("Raise", 0)]
