"""Until workers are ready, this process goes on with the functions."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from parpass.runner import cost_model, open_runner, placement
from parpass.runner.cost_model import SlowdownEstimate
from parpass.runner.driver import probe
from parpass.runner.placement import PlacementReason
from parpass.runner.worker.jobs import load_payload
from parpass.transform import FunctionPass, PassContext, PassInfo
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.costs import forget_costs
from tests.support.runner.executors import ThreadExecutor
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add

FUNCTIONS = 100
READY_AT = 10  # the function on which the workers become ready
LIGHT = 40  # functions which are known to be small work by then
# Worth workers at once, and not so little that they run all there is.
WORTH_IT = PassContext(config={ASKING_WORKERS_SECONDS: 0.02})

_loading: list[tuple[Callable[[bytes], bytes], bytes, Future[bytes]]] = []


def load_now() -> None:
    """Have the worker load what it was sent."""
    for run, payload, answer in _loading:
        answer.set_result(run(payload))
    _loading.clear()


class Where(FunctionPass):
    """Appends 1 in the main thread, else 0; takes a millisecond of a core."""

    pass_info = PassInfo(0, "Where")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        until = time.thread_time() + 0.001
        while time.thread_time() < until:
            pass
        is_here = threading.current_thread() is threading.main_thread()
        if func.values[0] == READY_AT:
            load_now()
        return func.with_values([*func.values, int(is_here)])


class Refuses(Where):
    """Raises on the last function."""

    pass_info = PassInfo(0, "Refuses")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if func.values[0] == FUNCTIONS:
            raise ValueError("the last one")
        return super().transform_function(func, mod, ctx)


class Interrupted(Where):
    """Is light at first; the user interrupts it on the last function."""

    pass_info = PassInfo(0, "Interrupted")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if func.values[0] < LIGHT:
            return func
        if func.values[0] == FUNCTIONS:
            raise KeyboardInterrupt
        return super().transform_function(func, mod, ctx)


class SlowToLoad(ThreadExecutor):
    """Its workers have loaded the passes when `load_now` is called, or never."""

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = 0.0,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        if run is not load_payload:
            return super().submit(run, job, seconds, owner=owner)
        answer = Future[bytes]()
        self.log.append("load")
        _loading.append((run, job, answer))
        return answer


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(placement, "_cores", lambda: 2)
    # What else keeps the cores busy is not to be taken for work.
    clock = SimpleNamespace(perf_counter=time.thread_time)
    monkeypatch.setattr(probe, "time", clock)
    forget_costs()
    _loading.clear()
    yield
    forget_costs()
    _loading.clear()


def test_functions_run_here_until_workers_have_loaded_the_passes():
    executor = SlowToLoad()
    with open_runner(executor=executor) as runner:
        made = runner.run_sync(
            program(*range(1, FUNCTIONS + 1)), Where(), context=WORTH_IT
        )
        report = runner.last_report
    here = [values[-1] for values in values_of(made).values()]
    # Of the others this process may take some back, if the threads are slow.
    assert here[: READY_AT + 1] == [1] * READY_AT + [0]
    assert executor.log.count("load") == 1
    assert report is not None
    assert report.here[PlacementReason.STARTING] > 0


def test_no_more_workers_are_started_for_a_run_that_is_interrupted():
    executor, context = SlowToLoad(), PassContext(config={ASKING_WORKERS_SECONDS: 5e-3})
    with open_runner(executor=executor) as runner:
        mod = program(*range(1, FUNCTIONS + 1))
        with pytest.raises(KeyboardInterrupt):
            runner.run_sync(mod, Interrupted(), context=context)
        assert executor.log == ["load", "end"]


def test_all_functions_run_here_if_workers_are_never_ready():
    executor = SlowToLoad()
    with open_runner(executor=executor) as runner:
        mod = program(*range(READY_AT + 1, FUNCTIONS + 1))
        made = runner.run_sync(mod, [Where(), Where()], context=WORTH_IT)
        report = runner.last_report
    assert {values[1:] for values in values_of(made).values()} == {(1, 1)}
    assert executor.log.count("load") == 1
    assert "submit" not in executor.log
    assert report is not None
    assert report.in_workers == 0


def test_what_was_not_worth_starting_workers_is_reported_as_small_work():
    executor = SlowToLoad()
    # The probe takes the other passes for as slow as the first, which they are not.
    light = [Add(number) for number in range(40)]
    with open_runner(executor=executor) as runner:
        runner.run_sync(program(*range(READY_AT + 1, FUNCTIONS + 1)), [Where(), *light])
        report = runner.last_report
    assert executor.log == []
    assert report is not None
    assert list(report.here) == [PlacementReason.SMALL]


@pytest.mark.parametrize("first", [1, READY_AT + 1])
def test_an_error_is_that_of_the_serial_run_whoever_met_it(first: int):
    mod = program(*range(first, FUNCTIONS + 1))
    with pytest.raises(ValueError, match="the last one") as serial:
        Refuses()(mod)
    with (
        open_runner(executor=SlowToLoad()) as runner,
        pytest.raises(ValueError, match="the last one") as parallel,
    ):
        runner.run_sync(mod, Refuses(), context=WORTH_IT)
    assert parallel.value.__notes__ == serial.value.__notes__


def test_what_is_isolated_or_has_a_limit_never_runs_here():
    mod = program(*range(READY_AT + 1, FUNCTIONS + 1))
    for isolated, seconds in [(True, None), (False, 60.0)]:
        with open_runner(executor=SlowToLoad(), isolated=isolated) as runner:
            made = runner.run_sync(
                mod, Where(), context=WORTH_IT, function_timeout=seconds
            )
        assert not any(values[-1] for values in values_of(made).values())


SMALL = """
import sys
import parpass
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

mod = program(*range(30))
assert parpass.run_pipeline_sync(mod, [Add(1), Add(2)], workers=2) == Add(3)(mod)
late = "trio", "asyncio", "tracemalloc", "parpass.notebook_html"
print([name for name in late if name in sys.modules])
"""


def test_a_run_that_needs_no_workers_loads_no_event_loop_nor_what_few_ask_for():
    ran = subprocess.run(
        [sys.executable, "-c", SMALL],
        text=True,
        capture_output=True,
        timeout=200,
        check=True,
    )
    assert ran.stdout == "[]\n"


FIRST_AWAIT = """
import sys
import threading
import {library}
import parpass
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

class Finder:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            by_the_loop.append(name)

by_the_loop = []
mod = program(*range(30))
with parpass.open_runner(workers=2) as runner:
    sys.meta_path.insert(0, Finder())
    with pooled():
        assert {library}.run({call}) == Add(3)(mod)
print(by_the_loop)
assert "loky" in sys.modules
"""
CALLS = {
    "asyncio": "runner.run(mod, [Add(1), Add(2)])",
    "trio": "runner.run, mod, [Add(1), Add(2)]",
}


@pytest.mark.parametrize("library", CALLS)
def test_the_thread_of_the_event_loop_imports_nothing_on_the_first_await(
    library: str,
):
    program = FIRST_AWAIT.format(library=library, call=CALLS[library])
    ran = subprocess.run(
        [sys.executable, "-c", program],
        text=True,
        capture_output=True,
        timeout=200,
        check=True,
    )
    assert ran.stdout == "[]\n"
