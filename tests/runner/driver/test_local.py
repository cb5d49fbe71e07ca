"""Functions are taken to keep their signatures; where they do not, it does not show.

Small work stays in this process, whatever an IR says of its size.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import msgspec
import pytest

from parpass import (
    IRModule,
    assert_structural_equal,
    relay,
)
from parpass.diagnostic import Diagnostic
from parpass.errors import (
    DiagnosticError,
    FunctionTimeoutError,
    SlowerRunWarning,
    UnpicklablePassWarning,
    WorkerDiedError,
)
from parpass.instrument import PassInstrument
from parpass.runner import Runner
from parpass.runner.cost_model import StartupAmortizer
from parpass.runner.driver.backends import BlockingBackend
from parpass.runner.driver.local import run_functions
from parpass.runner.driver.pass_by_pass import PassByPassCheckpoint
from parpass.runner.driver.probe import HandoverCriterion, Look
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.driver.task_backends import TaskBackend
from parpass.runner.ipc.function_outcome import AbandonedError
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore
from parpass.runner.observers import RunObservers
from parpass.runner.placement import (
    Placed,
    Placement,
    PlacementPolicy,
    PlacementReason,
)
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    adapter_of,
)
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.config import ASKING_WORKERS_SECONDS
from parpass.transform.plan.commands import RunStage
from parpass.transform.plan.serial import run_stage_serially
from tests.runner.driver.retyping import HangOnInt, NoteRuns, Swap, ToInt
from tests.support.runner.costs import forget_costs
from tests.support.runner.pooled import HERE, POOLED
from tests.support.runner.probing import settling
from tests.support.toy.ending import EndAtStart
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.kinds import CountedProgram, CountingAdapter, SizelessProgram
from tests.support.toy.passes import Add, FailOn
from tests.support.toy.pipelines import Seen, see
from tests.support.toy.signed_ir import Change, SignedProgram, stated
from tests.support.toy.talking import LOGGER, NumberWarning, listening
from tests.support.watching import Blind, ChangeLog

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


class AppendStated(FunctionPass):
    """Appends to the first function what the last one states."""

    pass_info = PassInfo(0, "AppendStated")

    def transform_function(self, func: Fn, mod: Any, ctx: PassContext) -> Fn:
        if ctx.function_name != "f0":
            return func
        return func.with_values((*func.values, stated(mod, "f4")))


@pytest.mark.parametrize("changing", [[], ["f0"], ["f4"], ["f1", "f4"]])
def test_a_function_that_ran_first_sees_what_others_state_as_passes_go_on_with_them(
    changing: list[str], runner: Runner
) -> None:
    mod = SignedProgram({f"f{at}": Fn((at,)) for at in range(5)})
    passes = [
        AppendStated(),
        Change(changing),
        AppendStated(),
        Change(changing),
        AppendStated(),
    ]
    serial = Sequential(passes)(mod)
    with settling(1):
        parallel = runner.run_sync(mod, passes, context=PassContext(config=HERE))
    assert values_of(parallel) == values_of(serial)


class Listing(FunctionPass):
    """Takes down on which values it is called."""

    def __init__(self, name: str, calls: list[tuple[str, int]]) -> None:
        self.pass_info = PassInfo(0, name)
        self.calls = calls

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.calls.append((self.info.name, func.values[0]))
        return func


@pytest.mark.parametrize("watchers", [[], [Blind()], [ChangeLog()]])
def test_passes_that_go_on_one_after_the_other_run_once_on_each_function(
    runner: Runner, watchers: list[PassInstrument]
) -> None:
    calls: list[tuple[str, int]] = []
    passes = [Listing("first", calls), Listing("second", calls)]
    context = PassContext(config=HERE, instruments=watchers)
    with settling(2):
        runner.run_sync(program(*range(5)), passes, context=context)
    begun_with = [(name, at) for at in range(2) for name in ("first", "second")]
    assert calls == [
        *begun_with,
        *[(name, at) for name in ("first", "second") for at in range(2, 5)],
    ]


@pytest.mark.slow
async def test_the_event_loop_decodes_no_functions_as_passes_go_on_with_them(
    runner: Runner,
) -> None:
    CountingAdapter.unpacking.clear()
    mod = CountedProgram(program(*range(6)).functions)
    with settling(1, leaving=(0, 2)):
        made = await runner.run(mod, [Add()] * 3, context=PassContext(config=HERE))
    assert values_of(made) == values_of(program(*range(3, 9)))
    assert CountingAdapter.unpacking
    assert threading.current_thread() not in CountingAdapter.unpacking


@pytest.mark.slow
def test_an_error_of_a_function_that_ran_first_is_raised_before_others_run(
    runner: Runner,
) -> None:
    # Of the second pass; in the first one the last function raises.
    passes = [FailOn(4), Add(1), FailOn(1)]
    root, mod, settings = Sequential(passes), program(*range(5)), {"config": HERE}

    def in_parallel(root: Pass, mod: Any) -> Any:
        return runner.run_sync(mod, root)

    serial = see(root, mod, settings=settings)
    with settling(1):
        assert see(root, mod, run=in_parallel, settings=settings) == serial


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
            mod, passes, context=context, function_timeout=1, on_failure=policy
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


def begun(
    steps: tuple[Pass, ...], mod: IRModule | Program
) -> tuple[StageInProgress, RunState]:
    """Return a stage that begins in this process, and its run."""
    adapter = adapter_of(mod, steps[0].info.name)
    store, context = ModuleStore(adapter), PassContext()
    held = store.wrap(mod)
    state = RunState(
        BlockingBackend(),
        adapter,
        context,
        store,
        RunObservers(),
        AnalysisManager(context, adapter),
        PlacementPolicy(None, adapter, context, StartupAmortizer()),
    )
    placed = Placed(Placement.LOCAL, 1, PlacementReason.WORKERS_SLOWER)
    outcomes = StageOutcomes(list(held.handles), len(steps))
    command = RunStage(steps, mod, wanted=True)
    stage = StageInProgress(command, held, outcomes, 0.0, was_warm=True, placed=placed)
    return stage, state


class EndsTheProcess(FunctionPass):
    """Must not be called where the tests run."""

    pass_info = PassInfo(0, "EndsTheProcess")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        raise SystemExit("it was called")


def test_what_killed_a_worker_is_not_called_where_functions_are_taken_over() -> None:
    mod = _module(1)
    stage, state = begun((EndsTheProcess(),), mod)
    # One that is skipped, and one that fails.
    dead = WorkerDiedError(
        pass_name="EndsTheProcess", function="main", cause="SIGKILL(-9)"
    )
    outcomes = stage.outcomes
    outcomes.quarantined = {("f0", 0): "it died", ("main", 0): dead}
    run_functions(state, stage)
    assert not outcomes.missing()
    assert outcomes.notable[outcomes.names.index("main")].failure is dead


class EndsTheRun(FunctionPass):
    """Ends the run on a function, as cancelling it does; takes down on what it runs."""

    pass_info = PassInfo(0, "EndsTheRun")

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.store: ModuleStore | None = None

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.seen += func.values
        if self.store is not None:
            self.store.has_ended = func.values[0] == 2
        return func


class AllTogether(HandoverCriterion):
    """Looks at the first of six functions only."""

    def look(self, at: int, held: FunctionHandle) -> Look:
        return Look(6)


@pytest.mark.parametrize("passes_go_on", [False, True])
def test_functions_that_are_run_together_are_left_once_the_run_is_over(
    passes_go_on: bool,
):
    ending, mod = EndsTheRun(), program(*range(6))
    stage, state = begun((ending,), mod)
    ending.store = state.store
    policy: Any = SimpleNamespace(dispatch_overhead=float, speedup=int)
    state = msgspec.structs.replace(state, policy=policy)
    criterion = AllTogether(6, stage, state)

    def run() -> None:
        if not passes_go_on:
            run_functions(state, stage, criterion)
            return
        abandoned: Any = SimpleNamespace(store=state.store, backend=TaskBackend)
        checkpoint = PassByPassCheckpoint(criterion, 6, abandoned)
        about = stage.command.steps, mod, state.context, state.adapter
        run_stage_serially(*about, checkpoint)

    with pytest.raises(AbandonedError):
        run()
    assert ending.seen == [0, 1, 2]


class NeverMeasured(FunctionPass):
    """Adds 1; no other test runs it, so what it costs is to be found out."""

    pass_info = PassInfo(0, "NeverMeasured")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + 1 for value in func.values)


def test_functions_without_a_size_can_be_run(runner: Runner):
    mod = SizelessProgram(program(1, 2, 3).functions)
    after = runner.run_sync(mod, NeverMeasured())
    assert values_of(after) == values_of(program(2, 3, 4))


# The first function is run here, and the second one is known to be too much for that.
BIG = Fn((0,) * 5000)
BEGUN_HERE = {ASKING_WORKERS_SECONDS: 0.02}


def begun_here(*others: int, second: Fn = BIG) -> SignedProgram:
    """Return a module of which a pass is run here on the first function, no more."""
    functions = {f"f{at}": Fn((value,)) for at, value in enumerate(others, 2)}
    return SignedProgram({"f0": Fn((0,)), "f1": second, **functions})


class Telling(FunctionPass):
    """Logs, counts, says something and warns on each function; changes some.

    Where it runs in this process it takes down on what.
    """

    pass_info = PassInfo(0, "Telling")
    here: ClassVar[list[str]] = []

    def __init__(self, *changing: str) -> None:
        self.changing = changing

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        name = str(ctx.function_name)
        self.here.append(name)
        logging.getLogger(LOGGER).info("on %s", name)
        warnings.warn(f"of {name}", NumberWarning, stacklevel=1)
        ctx.count("functions")
        assert ctx.diag_ctx is not None
        ctx.diag_ctx.emit(Diagnostic.note(None, f"saw {name}"))
        if name not in self.changing:
            return func
        first, *rest = func.values
        return func.with_values([first + 1, *rest])


class TellingMore(Telling):
    """Appends what the second function states, too."""

    pass_info = PassInfo(0, "TellingMore")

    def transform_function(self, func: Fn, mod: Any, ctx: PassContext) -> Fn:
        func = super().transform_function(func, mod, ctx)
        return func.with_values((*func.values, stated(mod, "f1")))


class Unsendable(Telling):
    """Cannot be sent to a worker."""

    pass_info = PassInfo(0, "Unsendable")

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Unreturnable(Telling):
    """Makes the second function one that cannot be sent back, in a worker."""

    pass_info = PassInfo(0, "Unreturnable")

    def __init__(self) -> None:
        super().__init__()
        self.process = os.getpid()

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        func = super().transform_function(func, mod, ctx)
        lock: Any = threading.Lock()
        is_due = ctx.function_name == "f1" and os.getpid() != self.process
        return func.with_values((lock,)) if is_due else func


def unloadable() -> Pass:
    """Return a pass that workers cannot load."""
    made: Any = EndAtStart("raise", os.getpid())
    return made


PIPELINES: dict[str, Callable[[], list[Pass]]] = {
    "a callee that changes": lambda: [Telling("f1"), TellingMore()],
    "one that is begun here changes": lambda: [Telling("f0"), TellingMore("f1")],
    "a first pass that cannot be sent": lambda: [Unsendable(), Telling()],
    "a second pass that cannot be sent": lambda: [Telling(), Unsendable(), Telling()],
    "a pass that cannot be loaded": lambda: [Telling(), unloadable(), Telling()],
    "a function that cannot be sent back": lambda: [Telling(), Unreturnable()],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", PIPELINES)
def test_what_is_begun_here_and_goes_on_otherwise_is_heard_once(
    what: str, runner: Runner
):
    forget_costs()
    heard: list[Any] = []
    seen: list[Seen] = []

    def in_parallel(root: Pass, mod: Any) -> Any:
        return runner.run_sync(mod, root)

    for run in (None, in_parallel):
        root = Sequential(PIPELINES[what]())
        with listening() as told:
            settings = {"config": BEGUN_HERE}
            seen.append(see(root, begun_here(3, 4), run=run, settings=settings))
        ours = (UnpicklablePassWarning, SlowerRunWarning)
        heard.append([one for one in told if not set(one) & {*ours}])
    assert seen[0] == seen[1]
    assert heard[0] == heard[1]
