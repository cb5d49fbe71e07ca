"""The garbage collector of the process is its host's."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Generator

import pytest

from parpass.runner import Runner
from parpass.transform import PassContext
from parpass.transform.gc_pause import gc_paused
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add


class Knot:
    """Garbage that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


def serially(_: Runner, mod: Program) -> Program:
    return Add(1)(mod)


def at_once(runner: Runner, mod: Program) -> Program:
    return runner.run_sync(mod, Add(1))


def here(runner: Runner, mod: Program) -> Program:
    return runner.run_sync(mod, [Add(1), Add(2)], context=PassContext(opt_level=1))


def in_workers(runner: Runner, mod: Program) -> Program:
    return run_pooled(runner, Add(1), mod)


@pytest.fixture
def own_thresholds() -> Generator[None]:
    before = gc.get_threshold()
    gc.set_threshold(50, 3, 3)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("own_thresholds")
@pytest.mark.parametrize(
    ("run", "times"), [(serially, 300), (at_once, 300), (here, 100), (in_workers, 10)]
)
def test_garbage_of_the_host_is_freed_while_it_calls_passes(
    runner: Runner, run: Callable[[Runner, Program], Program], times: int
):
    mod = program(1, 2)
    frozen = gc.get_freeze_count()  # some Pythons begin with some
    run(runner, mod)
    gc.collect()
    knots: list[weakref.ref[Knot]] = []
    waiting = 0
    for _ in range(times):
        knots += [weakref.ref(Knot()) for _ in range(1_000 // times)]
        run(runner, mod)
        waiting = max(waiting, sum(one() is not None for one in knots))
    assert waiting < 500
    assert gc.get_threshold() == (50, 3, 3)
    assert gc.get_freeze_count() <= frozen  # what a test froze may be dropped


def test_the_last_of_several_pauses_has_the_collector_work_again():
    with gc_paused:
        assert not gc.isenabled()
        with gc_paused:
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_its_host_switched_off_stays_off():
    gc.disable()
    try:
        with gc_paused:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_pauses_of_many_threads_leave_the_collector_as_it_was():
    def pause() -> None:
        for _ in range(2_000):
            with gc_paused:
                assert not gc.isenabled()

    threads = [threading.Thread(target=pause) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert gc.isenabled()


def in_fork(ask: Callable[[], bool]) -> bool:
    """Return what is answered in a process that is forked here."""
    child = os.fork()
    if child == 0:
        answer = False
        try:
            answer = ask()
        finally:
            os._exit(int(answer))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_process_forked_in_a_pause_has_a_collector_that_works():
    def works() -> bool:
        began = gc.isenabled()
        with gc_paused:
            paused = not gc.isenabled()
        return began and paused and gc.isenabled()

    with gc_paused:
        assert in_fork(works)
        assert not gc.isenabled()
    assert gc.isenabled()


def test_leaving_a_pause_that_began_before_a_fork_changes_nothing():
    with gc_paused:
        child = os.fork()
        if child == 0:
            gc.disable()  # as the program that it is now may wish
    if child == 0:
        os._exit(int(gc.isenabled()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
