"""Workers log and warn of what the process logs and warns of, however warm they are."""

from __future__ import annotations

import logging
import pickle
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parpass.runner import Runner
from parpass.runner.follow.logging_state import LoggingState
from parpass.runner.follow.pickling import KeptEncoding
from parpass.transform import FunctionPass, PassContext, PassInfo
from parpass.transform.capture.intercept import tagging_log_records
from tests.conftest import RunnerOf
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.probing import seen_in_workers


@pytest.fixture(autouse=True)
def warm(runner: Runner) -> None:
    """Start workers, and run a pass in them."""
    assert seen_in_workers(runner, lambda: 1) == 1


def test_levels_and_methods_that_loggers_were_given_follow(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    def trace(self: logging.Logger, text: str) -> str:
        return f"{self.name} {text}"

    logging.addLevelName(5, "TRACE")
    monkeypatch.setattr(logging.Logger, "trace", trace, raising=False)

    def read() -> Any:
        logger: Any = logging.getLogger("a")
        return logging.getLevelName(5), logger.trace("b")

    assert seen_in_workers(runner, read) == ("TRACE", "a b")


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a module with a warning, in a folder that workers do not know yet."""
    (tmp_path / "warns_late.py").write_text("class Late(UserWarning):\n    pass\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import warns_late  # pyright: ignore[reportMissingImports] -- made above

    yield warns_late
    del sys.modules["warns_late"]


def test_a_filter_of_a_class_that_is_found_late_follows(runner: Runner, late: Any):
    def read() -> Any:
        kinds: list[Any] = [one[2] for one in warnings.filters]
        return [one.__name__ for one in kinds if one.__module__ == "warns_late"]

    with warnings.catch_warnings():
        warnings.simplefilter("always", late.Late)
        assert seen_in_workers(runner, read) == ["Late"]


def encode(states: KeptEncoding) -> bytes:
    state = LoggingState.take()
    return states.encode(state, is_plain=state.is_plain)


def test_what_has_not_changed_is_not_packed_again(monkeypatch: pytest.MonkeyPatch):
    # Methods may change while they stay equal, and Bokeh, for one, adds one.
    for name in LoggingState.take().added_methods:
        monkeypatch.delattr(logging.Logger, name)
    with warnings.catch_warnings():
        warnings.resetwarnings()
        states = KeptEncoding()
        assert encode(states) is encode(states)


class OwnWarning(UserWarning):
    """One of the program, which may change."""


def test_levels_and_filters_are_packed(monkeypatch: pytest.MonkeyPatch):
    states = KeptEncoding()

    def packed() -> LoggingState:
        return pickle.loads(encode(states))

    monkeypatch.setattr(logging.getLogger("tests.packed_once"), "level", 17)
    assert packed().levels["tests.packed_once"] == 17
    with warnings.catch_warnings():
        warnings.simplefilter("error", OwnWarning)
        assert packed().filters[0][2] is OwnWarning
        assert encode(states) is not encode(states)


class Loud(FunctionPass):
    """Appends the level of a logger, and sets another one."""

    pass_info = PassInfo(0, "Loud")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        logger = logging.getLogger("tests.loud")
        level = logger.level
        logger.setLevel(level + 1)
        return func.with_values((*func.values, level))


def test_levels_are_set_anew_for_each_stage(runner_of: RunnerOf):
    for _ in range(2):
        made = run_pooled(runner_of(1), Loud(), program(1))
        assert values_of(made) == {"f0": (1, 0)}


def test_what_leads_records_while_bodies_run_is_not_the_programs(
    monkeypatch: pytest.MonkeyPatch,
):
    before = LoggingState.take()
    with tagging_log_records:
        assert LoggingState.take().added_methods == before.added_methods

    def handle(self: logging.Logger, record: logging.LogRecord) -> None: ...

    monkeypatch.setattr(logging.Logger, "handle", handle)
    with tagging_log_records:
        found = LoggingState.take().added_methods
    assert found == {**before.added_methods, "handle": handle}
