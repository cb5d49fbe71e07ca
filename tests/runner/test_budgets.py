"""Budgets and what to do when a pass fails, alike in both drivers where that can be."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.errors import (
    ArgumentError,
    BudgetWarning,
    ConfigError,
    FunctionTimeoutError,
    MemoryLimitError,
    WorkerDiedError,
    other_failures,
)
from parpass.runner import Runner, open_runner
from parpass.spi import skip_reasons
from parpass.transform import Pass, PassContext, Sequential
from tests.runner.lingering import (
    LIMIT,
    LONG,
    Burn,
    BurnElsewhere,
    FailFirst,
    Linger,
    RunInside,
    SlowNumber,
)
from tests.support.cells import at_times, by_turns
from tests.support.runner.executors import Die, ThreadExecutor
from tests.support.runner.pooled import POOLED, pooled
from tests.support.toy.box_ir import box_program
from tests.support.toy.ending import Allocate, EndIn, HangOnAll
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn, Keep
from tests.support.toy.pipelines import Seen, on_both_toys, see

pytestmark = pytest.mark.each_executor


def both(runner: Runner, root: Pass, mod: Program, config: dict[str, Any]) -> Seen:
    """Return what is seen of a run, which is the same in serial and in parallel."""
    serial = see(root, mod, settings={"config": config})
    parallel = see(
        root,
        mod,
        run=lambda root, mod: runner.run_sync(mod, root),
        settings={"config": {**config, **POOLED}},
    )
    assert parallel == serial
    return serial


@pytest.mark.slow
@on_both_toys
def test_what_takes_too_long_fails_alike_in_both_drivers(
    toy: Callable[..., Program], runner: Runner
):
    seen = both(
        runner,
        Sequential([Add(1), Linger(2), Add(1)]),
        toy(1, 2, 1),
        {"parpass.function_timeout": LIMIT},
    )
    assert seen.error is not None
    kind, text, notes = seen.error
    assert kind is FunctionTimeoutError
    assert "'Linger' on function 'f0': it took longer than" in text
    assert notes == ["in pass 'Linger', on function 'f0'"]


@pytest.mark.slow
@on_both_toys
def test_what_takes_too_much_of_the_processor_fails_alike_in_both_drivers(
    toy: Callable[..., Program], runner: Runner
):
    steps = Sequential([Add(1), Burn(2, 0.1), Add(1)])
    seen = both(runner, steps, toy(1, 2, 1), {"parpass.cpu_limit": 0.05})
    assert seen.error is not None
    kind, text, notes = seen.error
    assert kind is FunctionTimeoutError
    assert "'Burn' on function 'f0': it took more CPU time than" in text
    assert "its cpu_limit of 0.05 s" in text
    assert notes == ["in pass 'Burn', on function 'f0'"]


@pytest.mark.slow
@on_both_toys
def test_time_of_the_processor_is_that_of_the_thread_that_runs_the_pass(
    toy: Callable[..., Program], runner: Runner
):
    step = BurnElsewhere(1, 0.1)
    seen = both(runner, step, toy(1, 2), {"parpass.cpu_limit": 0.1})
    assert seen.result is not None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is seen at the end")
def test_a_worker_that_takes_the_processor_for_ever_is_killed():
    step, mod = Burn(2, math.inf), program(1, 2, 3)
    with open_runner(workers=2) as runner:
        after = runner.run_sync(
            mod, step, context=pooled(), cpu_limit=0.2, on_failure="skip"
        )
    assert values_of(after) == values_of(program(2, 2, 4))


@pytest.mark.slow
def test_an_error_that_comes_too_late_is_one_of_time(runner: Runner):
    late = RunInside(Sequential([Linger(2), FailOn(3)]))
    late.function_timeout = LIMIT
    seen = both(runner, late, program(1, 2), {})
    assert seen.error is not None
    assert seen.error[0] is FunctionTimeoutError


@pytest.mark.slow
@on_both_toys
def test_what_is_skipped_stays_as_it_was_and_is_told(
    toy: Callable[..., Program], runner: Runner
):
    seen = both(
        runner,
        Sequential([Add(1), Linger(2), FailOn(5), Add(10)]),
        toy(1, 2, 4),
        {"parpass.function_timeout": LIMIT, "parpass.on_failure": "skip"},
    )
    assert seen.result is not None
    assert values_of(seen.result) == values_of(toy(12, 14, 16))
    told = [one for rendering in seen.said for one in rendering]
    assert [(one.level, one.message) for one in told] == [
        (
            DiagnosticLevel.WARNING,
            (
                "pass 'Linger' was skipped on function 'f0', which stays as it was: it "
                f"took longer than its function_timeout of {LIMIT} s"
            ),
        ),
    ]
    reason = f"it took longer than its function_timeout of {LIMIT} s"
    assert skip_reasons(told, "Linger") == {"f0": reason}
    assert skip_reasons(told, "Ling") == {}


def test_reasons_of_skips_are_those_of_functions_of_any_name(runner: Runner):
    name = "f', which stays as it was: g"
    mod = Program({name: Fn((3,)), "h": Fn((4,))})
    context = PassContext(config={"parpass.on_failure": "skip", **POOLED})
    runner.run_sync(mod, Sequential([FailOn(3)]), context=context)
    assert context.diag_ctx is not None
    told = context.diag_ctx.diagnostics
    assert skip_reasons(told, "FailOn") == {name: "ValueError: met 3"}
    only_text = [Diagnostic.warning(None, one.message) for one in told]
    assert skip_reasons(only_text, "FailOn") == {}


@on_both_toys
def test_errors_are_skipped_and_retried_alike_in_both_drivers(
    toy: Callable[..., Program], runner: Runner
):
    steps = Sequential([Add(1), FailOn(3), AddFrom("f1"), Add(1)])
    skipped = both(runner, steps, toy(1, 2), {"parpass.on_failure": "skip"})
    assert skipped.result is not None
    assert skipped.result["f0"].values == (3, 4)
    (told,) = [one for rendering in skipped.said for one in rendering]
    assert "ValueError: met 3" in told.message
    retried = both(runner, steps, toy(1, 2), {"parpass.on_failure": "retry"})
    assert retried.error is not None
    assert retried.error[0] is ValueError


@pytest.mark.slow
@at_times("toy", [program], [box_program])
def test_a_retry_has_all_of_the_time_again(toy: Callable[..., Program], runner: Runner):
    limits = {"parpass.function_timeout": 1.0, "parpass.on_failure": "retry"}
    FailFirst.seen.clear()
    seen = both(runner, FailFirst(), toy(1), limits)
    assert seen.result == toy(2)


@pytest.mark.slow
@pytest.mark.parametrize("step", [Add(1), AddFrom("f1")])
def test_the_way_to_a_worker_is_none_of_a_passs_time(step: Pass, runner: Runner):
    # f0 asks for f1 long before that is packed.
    mod = Program({"f0": Fn((1,)), "f1": Fn((SlowNumber(2),))})
    seen = both(runner, step, mod, {"parpass.function_timeout": LIMIT})
    assert seen.error is None


def test_limits_of_the_call_hold_for_passes_that_a_body_runs(runner: Runner):
    step = RunInside(FailOn(2))
    after = [
        one.run_sync(program(1, 2, 3), step, context=pooled(), on_failure="skip")
        for one in (open_runner(workers=0), runner)
    ]
    assert after == [program(2, 3, 4)] * 2


@pytest.mark.slow
@by_turns(("where", "toy"), ["pass", "call", "context"], [program, box_program])
def test_a_budget_is_set_on_the_pass_the_call_or_the_context(
    toy: Callable[..., Program], where: str, runner: Runner
):
    step, call = Linger(1), {"pass": None, "call": LIMIT, "context": None}[where]
    config: dict[str, Any] = dict(POOLED)
    if where == "pass":
        step.function_timeout = LIMIT
    if where == "context":
        config["parpass.function_timeout"] = LIMIT
    context = PassContext(config=config)
    with pytest.raises(FunctionTimeoutError):
        runner.run_sync(toy(1, 2), step, context=context, function_timeout=call)


@on_both_toys
def test_what_the_pass_says_goes_before_the_call_and_that_before_the_context(
    toy: Callable[..., Program],
    runner: Runner,
):
    step = Linger(1)
    context = PassContext(config={**POOLED, "parpass.function_timeout": 1e-9})
    runner.run_sync(toy(1, 2), step, context=context, function_timeout=10.0)
    step.function_timeout = 20.0
    runner.run_sync(toy(1, 2), step, context=context, function_timeout=1e-9)


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_a_budget_of_nothing_is_refused(seconds: float, runner: Runner):
    with pytest.raises(ArgumentError, match="expected function_timeout above 0"):
        runner.run_sync(program(1), Add(1), function_timeout=seconds)


def test_a_policy_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="on_failure"):
        PassContext(config={"parpass.on_failure": "hope"})


@pytest.mark.slow
@by_turns(("how", "toy"), ["hang", "segfault"], [program, box_program])
def test_what_must_be_killed_is_skipped(
    toy: Callable[..., Program], how: str, runner: Runner
):
    after = runner.run_sync(
        toy(*range(8)),
        [Add(1), EndIn(how, 3, 6), Add(10)],
        context=pooled(),
        function_timeout=0.3,
        on_failure="skip",
    )
    plain = [value + (11 if value in (2, 5) else 12) for value in range(8)]
    assert values_of(after) == values_of(toy(*plain))


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 2])
def test_who_was_killed_in_a_stage_is_no_one_in_the_next(after: int, runner: Runner):
    """Its last activity stays behind, with numbers that mean something else there."""
    hang, linger, last = EndIn("hang", 4), Linger(5, 2 * LONG), Add(1)
    hang.function_timeout, linger.function_timeout = LIMIT, 60.0
    last.function_timeout = LIMIT
    found = runner.run_sync(
        program(*range(4)),
        [Add(1), Add(1), hang, Keep(), Add(1), linger, *[last] * after],
        context=pooled(),
        on_failure="skip",
    )
    values = [value + after for value in (5, 6, 6, 8)]
    assert values_of(found) == values_of(program(*values))


# How often a pass that hangs may keep a worker: at first, then in serial order, and
# once more, by what waits for a worker, where the executor has no `withdraw` (Dask's).
TIMES_KEPT = {"loky": 2, "dask": 3}


@pytest.mark.slow
def test_of_a_pass_that_hangs_on_all_functions_few_are_begun(
    runner: Runner, executor: str, tmp_path: Path
):
    """Each keeps its worker for as long as it may; by size the first is the last."""
    mod = Program({f"f{at}": Fn(tuple(range(at + 1))) for at in range(40)})
    hang = HangOnAll(str(tmp_path / "begun"))
    with pytest.raises(FunctionTimeoutError) as caught:
        runner.run_sync(mod, hang, context=pooled(), function_timeout=0.2)
    assert caught.value.function == "f0"
    begun = (tmp_path / "begun").read_text().split()
    assert len(begun) <= TIMES_KEPT[executor] * 2


@at_times("toy", [program], [box_program])
@pytest.mark.slow
def test_a_function_made_on_demand_is_blamed_itself(
    toy: Callable[..., Program], runner: Runner
):
    # f0 asks for f1 as it stands after a pass that kills on f1.
    after = runner.run_sync(
        toy(1, 2, 3),
        [EndIn("segfault", 2), AddFrom("f1")],
        context=pooled(),
        on_failure="skip",
    )
    assert values_of(after) == {"f0": (2, 2), "f1": (2, 2), "f2": (4, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["skip", "fail"])
def test_a_body_that_hangs_in_two_workers_at_once_is_judged_once(
    runner: Runner, policy: str
):
    """One has it for its function, the other for what that function is read by."""
    context = pooled()
    runner.run_sync(program(1, 3, 4, 5), AddFrom("f0"), context=context)  # both start
    settings: Any = {"function_timeout": LIMIT, "on_failure": policy}
    steps = [EndIn("hang", 2), AddFrom("f0")]
    if policy == "skip":
        after = runner.run_sync(program(2, 3), steps, context=context, **settings)
        assert values_of(after) == {"f0": (2, 2), "f1": (4, 2)}
        return
    with pytest.raises(FunctionTimeoutError) as caught:
        runner.run_sync(program(2, 3), steps, context=context, **settings)
    assert caught.value.function == "f0"
    assert not other_failures(caught.value)


@at_times("toy", [box_program], [program])
@pytest.mark.slow
def test_memory_beyond_the_limit_is_refused(
    toy: Callable[..., Program], runner: Runner
):
    mod, step = toy(1, 2, 3), Allocate(2, 1 << 30)
    with pytest.raises(MemoryLimitError, match="memory_limit of 200,000,000") as caught:
        runner.run_sync(mod, step, context=pooled(), memory_limit=200_000_000)
    assert caught.value.function == "f1"
    after = runner.run_sync(
        mod, step, context=pooled(), memory_limit=200_000_000, on_failure="skip"
    )
    assert values_of(after) == values_of(toy(2, 2, 4))


@at_times("toy", [program], [box_program])
@pytest.mark.slow
def test_memory_that_a_function_takes_on_demand_is_not_that_of_who_asks(
    toy: Callable[..., Program],
    runner: Runner,
):
    asks = AddFrom("f1")
    asks.memory_limit = 1 << 26
    steps = Sequential([Allocate(2, 1 << 28), asks])
    after = runner.run_sync(toy(1, 2), steps, context=pooled())
    assert values_of(after) == {"f0": (2, 3), "f1": (3, 3)}


def test_where_memory_cannot_be_limited_that_is_said(runner: Runner):
    step = Allocate(0, 0)
    step.memory_limit = 1 << 30
    with pytest.warns(BudgetWarning, match="only in workers"):
        step(program(1))


def test_of_several_deaths_the_first_is_raised():
    executor = ThreadExecutor(2, seed=3)
    mod = Program({name: Fn((at % 3,)) for at, name in enumerate("abcdefgh")})
    runner = open_runner(executor=executor)
    with pytest.raises(WorkerDiedError) as caught:
        runner.run_sync(mod, Die(2), context=pooled())
    runner.close()
    executor.close()
    others = other_failures(caught.value)
    named = [getattr(error, "function", None) for error in (caught.value, *others)]
    assert named in (["c"], ["c", "f"])
