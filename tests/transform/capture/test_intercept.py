"""What is led through here is the process's: it is put back as it was found."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import threading
import warnings
from collections.abc import Generator
from typing import Any

import pytest
import trio

from parpass.runner import Runner, run_pipeline
from parpass.transform import ModulePass, Pass, PassContext, PassInfo, Sequential
from parpass.transform.capture.intercept import (
    active_filters,
    allowing_capture,
    capturing,
)
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, FailOn
from tests.support.toy.talking import Talk

MOD = program(1, 2, 3)


def state() -> tuple[Any, ...]:
    filters: Any = warnings.filters
    return (
        logging.Logger.handle,
        logging.getLogRecordFactory(),
        warnings.showwarning,
        id(filters),
        list(filters),
    )


@pytest.fixture(autouse=True)
def own_warnings() -> Generator[list[str]]:
    shown: list[str] = []

    def show(message: Warning | str, *_: Any) -> None:
        shown.append(str(message))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield shown


def warn(text: str) -> None:
    warnings.warn(text, stacklevel=1)


def test_all_is_as_it_was_when_the_last_has_left():
    before = state()
    with (
        pytest.raises(ValueError, match="failed"),
        allowing_capture(),
        allowing_capture(),
        capturing(),
    ):
        raise ValueError("failed" if state() != before else "nothing was changed")
    assert state() == before


def test_many_threads_leave_all_as_it_was():
    before = state()

    def keep() -> None:
        for _ in range(300):
            with allowing_capture(), capturing() as tape:
                warn("kept")
                logging.getLogger("tests.interception").error("kept")
            assert len(tape.take()) == 2

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert state() == before


def test_what_nobody_keeps_is_shown_by_the_filters_in_force(own_warnings: list[str]):
    with allowing_capture():
        for _ in range(2):
            with capturing() as tape:
                warn("once")
            assert len(tape.take()) == 1
        for _ in range(2):
            warn("once")
    assert own_warnings == ["once"]


def test_filters_that_are_changed_meanwhile_stay_changed():
    filters = warnings.filters
    with allowing_capture():
        warnings.simplefilter("ignore", ResourceWarning)
        changed = active_filters()
    assert changed[0][:3] == ("ignore", None, ResourceWarning)
    assert warnings.filters is filters
    assert warnings.filters == changed


def test_filters_that_are_saved_meanwhile_and_restored_later_have_no_traces():
    before = list(warnings.filters)
    saving = warnings.catch_warnings()
    with allowing_capture():
        saving.__enter__()
        warnings.simplefilter("error")
    assert warnings.filters[1:] == before
    saving.__exit__(None, None, None)
    assert warnings.filters == before


def test_a_function_of_ours_that_was_saved_meanwhile_is_not_built_upon(
    own_warnings: list[str],
):
    saving = warnings.catch_warnings()
    with allowing_capture():
        saving.__enter__()
    saving.__exit__(None, None, None)
    with allowing_capture():
        pass
    warn("seen")
    assert own_warnings == ["seen"]


def test_who_wraps_the_handling_of_records_meanwhile_is_called_ever_after(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(logging.Logger, "handle", logging.Logger.handle)
    wrapped: list[str] = []
    with allowing_capture():
        inner: Any = logging.Logger.handle

        def wrapper(self: logging.Logger, record: logging.LogRecord) -> None:
            wrapped.append(record.getMessage())
            inner(self, record)

        logging.Logger.handle = wrapper
    with allowing_capture():
        logging.getLogger("tests.interception").error("inside")
        with capturing() as tape:
            logging.getLogger("tests.interception").error("kept")
        assert len(tape.take()) == 1
    logging.getLogger("tests.interception").error("outside")
    assert wrapped == ["inside", "outside"]
    assert caplog.messages == ["inside", "outside"]


def test_a_process_forked_meanwhile_has_all_as_it_was():
    before = state()
    with allowing_capture(), capturing():
        child = os.fork()
        if child == 0:
            os._exit(int(state() == before))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


class Wait(ModulePass):
    """Tells that it has begun, and goes on when it is told to."""

    pass_info = PassInfo(0, "Wait")

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        self.has_begun.set()
        assert self.may_go_on.wait(60)
        return mod


@pytest.mark.parametrize("passes", [[Add(1)], [Add(1), FailOn(2)], [Talk(), Add(1)]])
def test_runs_leave_all_as_it_was_however_they_end(passes: list[Pass], runner: Runner):
    before = state()
    for asking in (0.0, 2e-5, 1e9):
        config = {ASKING_WORKERS_SECONDS: asking}
        with contextlib.suppress(ValueError):
            runner.run_sync(program(1, 2), passes, context=PassContext(config=config))
        with contextlib.suppress(ValueError), PassContext():
            Sequential(passes)(program(1, 2))
        assert state() == before


async def test_a_run_that_is_cancelled_leaves_all_as_it_was_when_its_body_ends():
    before, ended = state(), threading.Event()

    class TellEnd(Wait):
        def transform_module(self, mod: Program, ctx: PassContext) -> Program:
            try:
                return super().transform_module(mod, ctx)
            finally:
                ended.set()

    wait = TellEnd()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(functools.partial(run_pipeline, workers=0), MOD, wait)
        assert await trio.to_thread.run_sync(wait.has_begun.wait, 60)
        nursery.cancel_scope.cancel()
    assert state() != before  # what cannot be cut short goes on
    wait.may_go_on.set()
    assert await trio.to_thread.run_sync(ended.wait, 60)
    while state() != before:
        await trio.lowlevel.checkpoint()


def test_a_host_that_catches_warnings_beside_runs_has_its_own_back(runner: Runner):
    before = state()
    is_over = threading.Event()

    def host() -> None:
        while not is_over.is_set():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)

    thread = threading.Thread(target=host)
    thread.start()
    try:
        for _ in range(30):
            config = {ASKING_WORKERS_SECONDS: 2e-5}
            context = PassContext(config=config)
            runner.run_sync(MOD, [Add(1), Add(2)], context=context)
    finally:
        is_over.set()
        thread.join()
    now = state()
    assert now[:2] == before[:2]
    assert active_filters() == before[-1] == now[-1]
