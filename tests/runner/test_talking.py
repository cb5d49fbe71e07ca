"""Log records and warnings of passes come back, as the serial run emits them."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.diagnostic import Diagnostic
from parpass.errors import UnpicklablePassWarning
from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.comparing import law_on
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, AddFrom, Keep
from tests.support.toy.pipelines import see
from tests.support.toy.talking import (
    LOGGER,
    Heard,
    NumberWarning,
    Talk,
    TalkAside,
    listening,
)

pytestmark = pytest.mark.each_executor

IN_WORKERS = 0.0
IN_BOTH = 2e-5


def heard_of(
    run: Callable[[Pass, Program], Any], root: Pass, mod: Program, **how: Any
) -> tuple[Heard, Any]:
    """Return what is heard, and what came out: text of the result, or the error."""
    with listening(**how) as heard:
        try:
            result = str(run(root, mod))
        except Exception as error:  # noqa: BLE001 -- it is compared
            notes: list[str] = getattr(error, "__notes__", [])
            result = (type(error), str(error), notes)
    return heard, result


def serially(root: Pass, mod: Program) -> Program:
    return root(mod)


def on(runner: Runner, asking: float) -> Callable[[Pass, Program], Program]:
    def run(root: Pass, mod: Program) -> Program:
        context = PassContext(config={ASKING_WORKERS_SECONDS: asking})
        return runner.run_sync(mod, root, context=context)

    return run


one_pass: st.SearchStrategy[Pass] = st.one_of(
    st.builds(
        Talk,
        st.sampled_from([None, None, None, 3, 5]),
        st.sampled_from([logging.INFO, logging.WARNING]),
    ),
    st.builds(TalkAside),
    st.builds(Add, st.integers(0, 2)),
    st.builds(AddFrom, st.just("f0")),
    st.builds(Keep),
)
actions = st.sampled_from(["default", "always", "once", "module", "ignore", "error"])


@pytest.mark.slow
@law_on(2)
@given(
    passes=st.lists(one_pass, min_size=1, max_size=4),
    numbers=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    level=st.sampled_from([logging.DEBUG, logging.WARNING, logging.CRITICAL]),
    action=actions,
    odd=st.one_of(st.none(), actions),
    asking=st.sampled_from([IN_WORKERS, IN_WORKERS, IN_BOTH]),
)
def test_logs_and_warnings_are_those_of_the_serial_run_in_its_order(
    runner: Runner,
    passes: list[Pass],
    numbers: list[int],
    level: int,
    action: str,
    odd: str | None,
    asking: float,
):
    root, mod = Sequential(passes), program(*numbers)
    how = {"level": level, "action": action, "odd": odd}
    serial = heard_of(serially, root, mod, **how)
    assert heard_of(on(runner, asking), root, mod, **how) == serial


def test_records_say_which_pass_was_running_on_which_function(runner: Runner):
    for run in (serially, on(runner, IN_WORKERS), on(runner, 1e9)):
        heard, _ = heard_of(run, Talk(), program(2, 4), level=logging.INFO)
        assert [one[-2:] for one in heard] == [("Talk", "f0"), ("Talk", "f1")]


class Twice(FunctionPass):
    """Runs another pass inside of its own body, and logs."""

    pass_info = PassInfo(0, "Twice")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        logging.getLogger(LOGGER).info("twice")
        Talk()(program(6))
        return func


def test_passes_inside_of_passes_are_named_in_their_records(runner: Runner):
    serial = heard_of(serially, Twice(), program(2, 4), level=logging.INFO)
    names = [one[-2] for one in serial[0]]
    assert names == ["Twice", "Talk", "Twice", "Talk"]
    assert heard_of(on(runner, 0.0), Twice(), program(2, 4), level=20) == serial


class Kill(FunctionPass):
    """Logs, and ends its process the first time."""

    pass_info = PassInfo(0, "Kill")

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        logging.getLogger(LOGGER).info("killing")
        if 3 in func.values:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return func
            os._exit(3)
        return func


@pytest.mark.slow
def test_what_a_worker_said_before_it_died_is_said_once(runner: Runner, tmp_path: Any):
    root = Kill(str(tmp_path / "killed"))
    heard, _ = heard_of(on(runner, IN_WORKERS), root, program(1, 2, 3, 4))
    assert [one[-1] for one in heard] == ["f0", "f1", "f2", "f3"]


def test_a_filter_that_raises_fails_the_pass_as_it_does_serially(runner: Runner):
    def refuse(record: logging.LogRecord) -> bool:
        if record.getMessage() == "met 4":
            raise RuntimeError("refused")
        return True

    logger = logging.getLogger(LOGGER)
    logger.addFilter(refuse)
    try:
        serial = heard_of(serially, Talk(), program(2, 4, 6))
        assert heard_of(on(runner, IN_WORKERS), Talk(), program(2, 4, 6)) == serial
        assert serial[1][0] is RuntimeError
    finally:
        logger.removeFilter(refuse)


class Report(FunctionPass):
    """Reports an error before it logs each number, and one after."""

    pass_info = PassInfo(0, "Report")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        assert ctx.diag_ctx is not None
        for value in func.values:
            ctx.diag_ctx.emit(Diagnostic.error(None, f"before {value}"))
            logging.getLogger(LOGGER).warning("met %d", value)
            ctx.diag_ctx.emit(Diagnostic.error(None, f"after {value}"))
        return func


@pytest.mark.parametrize("asking", [IN_WORKERS, 1e9])
@pytest.mark.parametrize("retries", [False, True])
def test_what_was_reported_before_a_handler_raised_is_rendered(
    runner: Runner, asking: float, *, retries: bool
):
    class Full(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage() == "met 4":
                raise OSError("disk full")

    config: dict[str, Any] = {"parpass.on_failure": "retry"} if retries else {}
    mod = Program({"f0": Fn((1, 2)), "f1": Fn((3, 4)), "f2": Fn((5,))})
    handler, logger = Full(), logging.getLogger(LOGGER)
    logger.addHandler(handler)
    try:
        serial = see(Report(), mod, settings={"config": config})
        config[ASKING_WORKERS_SECONDS] = asking
        parallel = see(
            Report(),
            mod,
            run=lambda root, mod: runner.run_sync(mod, root),
            settings={"config": config},
        )
    finally:
        logger.removeHandler(handler)
    assert serial.error == (
        OSError,
        "disk full",
        ["in pass 'Report', on function 'f1'"],
    )
    assert serial.said[0][-1].message == "before 4"
    assert parallel == serial


def test_logging_that_is_disabled_stays_so(runner: Runner):
    logging.disable(logging.ERROR)
    try:
        heard, _ = heard_of(on(runner, 0.0), Talk(2), program(2), level=logging.DEBUG)
    finally:
        logging.disable(logging.NOTSET)
    assert heard == []


def test_captured_warnings_are_log_records_that_name_the_pass(
    runner: Runner, caplog: pytest.LogCaptureFixture
):
    for run in (serially, on(runner, IN_WORKERS), on(runner, IN_BOTH)):
        caplog.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(capture=True)
            try:
                run(Talk(), program(1))
            finally:
                logging.captureWarnings(capture=False)
        records = [one for one in caplog.records if one.name == "py.warnings"]
        named = [
            (vars(r)["parpass_pass"], vars(r)["parpass_function"]) for r in records
        ]
        assert named == [("Talk", "f0")] * 2


class LockedTalk(Talk):
    """Talks, but cannot travel, because it has a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_pass_that_stays_here_is_heard_after_those_before_it_in_workers(
    runner: Runner,
):
    passes = Sequential([Talk(), LockedTalk(), TalkAside(), LockedTalk()])
    mod = program(1, 2, 3)
    heard, result = heard_of(on(runner, IN_WORKERS), passes, mod, action="always")
    expected, expected_result = heard_of(serially, passes, mod, action="always")
    ours = [one for one in heard if one[0] is not UnpicklablePassWarning]
    assert len(heard) > len(ours)  # LockedTalk did stay here
    assert ours == expected
    assert result == expected_result


def test_a_warning_that_is_an_error_is_raised_in_the_worker(runner: Runner):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NumberWarning, match="3 is odd"):
            on(runner, IN_WORKERS)(Talk(), program(2, 3))
