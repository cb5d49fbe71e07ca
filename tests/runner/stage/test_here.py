"""Functions are taken to keep their signatures; where they do not, it does not show."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest

from parpass import (
    IRModule,
    PassContext,
    assert_structural_equal,
    open_runner,
    relay,
)
from parpass.errors import DiagnosticError, FunctionTimeoutError, WorkerDiedError
from parpass.ir.module import stated_type
from parpass.ir.operators.op_table import Op
from parpass.runner import Runner
from parpass.runner.stage.here import take_over
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.retained import Retainer
from parpass.transform import FunctionPass, PassInfo, Sequential, adapter_of
from tests.support.ending import end
from tests.support.pooled import POOLED


class ToInt(FunctionPass):
    """Casts the results of the functions of some names, and so changes their types."""

    def __init__(self, *names: str) -> None:
        self.pass_info = PassInfo(0, "ToInt")
        self.names = names

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name not in self.names:
            return func
        return relay.Function(func.params, relay.op.cast(func.body, "int32"))


class Swap(FunctionPass):
    """Keeps all types."""

    pass_info = PassInfo(0, "Swap")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        class Swapper(relay.ExprMutator):
            def visit_call(self, call: relay.Call) -> relay.Expr:
                new = super().visit_call(call)
                if isinstance(new, relay.Call) and new.op is Op.get("abs"):
                    return relay.Call(Op.get("negative"), new.args)
                return new

        return Swapper().visit(func)  # pyright: ignore[reportReturnType]


KIND = relay.TensorType((2,), "float32")


def _module(callees: int = 3) -> IRModule:
    x = relay.var("x", KIND)
    mod = IRModule({})
    for at in range(callees):
        y = relay.var("y", KIND)
        mod[f"f{at}"] = relay.Function((y,), relay.abs(y))
    calls = [relay.Call(mod.get_global_var(f"f{at}"), (x,)) for at in range(callees)]
    mod["main"] = relay.Function((x,), relay.Tuple(tuple(calls)))
    return relay.transform.InferType()(mod)


@pytest.fixture(params=["here", "workers"])
def context(request: pytest.FixtureRequest) -> PassContext:
    if request.param == "here":
        return PassContext(config={"parpass.asking_workers_seconds": 1e9})
    return PassContext(config=POOLED)


@pytest.fixture(scope="module")
def runner():
    with open_runner(workers=2) as runner:
        yield runner


@pytest.mark.parametrize("changing", [(), ("f1",), ("f0", "f2"), ("f0", "f1", "f2")])
def test_callers_get_the_types_that_their_callees_came_to_have(
    changing: tuple[str, ...], context: PassContext, runner: Runner
) -> None:
    # main states no type of its own, so that it may follow its callees.
    mod = _module()
    main = mod["main"]
    mod["main"] = relay.Function(main.params, main.body)
    passes = [ToInt(*changing), Swap()]
    serial = Sequential(passes)(mod)
    parallel = runner.run_sync(mod, passes, context=context)
    assert_structural_equal(parallel, serial)
    for name in serial.functions_by_name:
        assert parallel[name].checked_type == serial[name].checked_type


class NoteRuns(FunctionPass):
    """Takes down, in a file for each process, on which functions it is run."""

    pass_info = PassInfo(0, "NoteRuns")

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        with (self.folder / str(os.getpid())).open("a") as file:
            file.write(f"{ctx.function_name}\n")
        return func


@pytest.mark.slow
def test_of_many_functions_only_callers_of_one_that_changed_run_again_in_the_workers(
    tmp_path: Path, runner: Runner
) -> None:
    mod, callers = _module(), {"f90", "f150", "f290"}
    for at in range(3, 300):
        name = f"f{at}"
        x = relay.var("x", KIND)
        called = mod.get_global_var("f0" if name in callers else "f1")
        call = relay.Call(called, (relay.abs(x),))
        body = relay.cast(call, "float32") if name in callers else call
        mod[name] = relay.Function((x,), body, KIND)
    mod.remove("main")
    mod = relay.transform.InferType()(mod)
    passes = [ToInt("f0"), NoteRuns(tmp_path), Swap()]
    context = PassContext(config=POOLED)
    parallel = runner.run_sync(mod, passes, context=context)
    runs = Counter(
        name for file in tmp_path.iterdir() for name in file.read_text().split()
    )
    assert not (tmp_path / str(os.getpid())).exists()
    # The callee is brought as far again by each worker that needs its type.
    assert {name for name, count in runs.items() if count > 1} - {"f0"} == callers
    assert len(runs) == 300
    serial = Sequential(passes)(mod)
    assert_structural_equal(parallel, serial)
    for name in serial.functions_by_name:
        assert parallel[name].checked_type == serial[name].checked_type


class HangOnInt(FunctionPass):
    """Hangs on `main` when `f1`, which that calls, is said to give integers."""

    pass_info = PassInfo(0, "HangOnInt")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name == "main":
            stated = stated_type(mod.functions_by_name, "f1")
            if "int32" in str(stated):
                end("hang")
        return func


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_a_caller_that_is_run_again_is_still_under_its_limits(
    policy: Literal["fail", "skip"], runner: Runner
) -> None:
    mod = _module()
    main = relay.Function(mod["main"].params, mod["main"].body)
    mod["main"] = main
    passes = [ToInt("f1"), HangOnInt(), Swap()]
    context = PassContext(config=POOLED)

    def run() -> IRModule:
        return runner.run_sync(
            mod, passes, context=context, function_timeout=0.3, on_failure=policy
        )

    if policy == "fail":
        with pytest.raises(FunctionTimeoutError) as caught:
            run()
        assert (caught.value.pass_name, caught.value.function) == ("HangOnInt", "main")
    else:
        after = run()
        expected = Sequential([ToInt("f1"), Swap()])(mod)
        assert_structural_equal(after, expected)


def test_a_caller_whose_callee_stops_to_fit_is_the_same_error(
    context: PassContext, runner: Runner
) -> None:
    mod = _module()  # main states its type, and f1 will not give it any more
    passes = [Swap(), ToInt("f1"), Swap()]
    messages: list[str] = []
    for run in (
        lambda: Sequential(passes)(mod),
        lambda: runner.run_sync(mod, passes, context=context),
    ):
        with pytest.raises(DiagnosticError) as caught:
            run()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_callees_are_not_made_again_where_their_types_stay(runner: Runner) -> None:
    context = PassContext(config=POOLED)
    with context:
        runner.run_sync(_module(), [Counting()])
        assert context.statistics["Counting"]["runs"] == 4
    assert Counting.bodies == 0  # they ran in the workers, not again here


class Counting(FunctionPass):
    """Counts its runs."""

    pass_info = PassInfo(0, "Counting")
    bodies = 0

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        Counting.bodies += 1
        ctx.count("runs")
        return func.with_attr("seen", 1)


class EndsTheProcess(FunctionPass):
    """Must not be called where the tests run."""

    pass_info = PassInfo(0, "EndsTheProcess")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        raise SystemExit("it was called")


def test_what_killed_a_worker_is_not_called_where_functions_are_taken_over() -> None:
    context, steps, mod = PassContext(), [EndsTheProcess()], _module(1)
    retainer = Retainer(adapter_of(mod, "EndsTheProcess"))
    held = retainer.hold(mod)
    outcomes = StageOutcomes(list(held.held), len(steps))
    # One that is skipped, and one that fails.
    dead = WorkerDiedError(
        pass_name="EndsTheProcess", function="main", cause="SIGKILL(-9)"
    )
    outcomes.verdicts = {("f0", 0): "it died", ("main", 0): dead}
    take_over(steps, held, context, retainer, outcomes)
    assert not outcomes.missing()
    assert outcomes.told[outcomes.names.index("main")].failure is dead
