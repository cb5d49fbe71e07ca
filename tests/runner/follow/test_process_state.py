"""What the process is set to, workers are set to as well, however warm they are."""

from __future__ import annotations

import decimal
import locale
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parpass.runner import Runner
from parpass.runner.follow.environment import WORKER_VARIABLES
from parpass.runner.follow.pickling import KeptEncoding
from parpass.runner.follow.process_state import ProcessState
from tests.support.toy.probing import seen_in_workers


@pytest.fixture(autouse=True)
def warm(runner: Runner) -> None:
    """Start workers, and run a pass in them."""
    assert seen_in_workers(runner, lambda: 1) == 1


def test_the_environment_follows(runner: Runner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PARPASS_TEST_ONE", "1")
    monkeypatch.delenv("HOME")

    def read() -> Any:
        return sorted(
            one for one in os.environ.items() if one[0] not in WORKER_VARIABLES
        )

    seen = seen_in_workers(runner, read)
    assert ("PARPASS_TEST_ONE", "1") in seen
    monkeypatch.delenv("PARPASS_TEST_ONE")
    assert seen_in_workers(runner, lambda: os.environ.get("PARPASS_TEST_ONE")) is None


def test_a_mapping_in_the_place_of_the_environment_follows(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "environ", {**os.environ, "PARPASS_TEST_TWO": "2"})
    assert seen_in_workers(runner, lambda: os.environ.get("PARPASS_TEST_TWO")) == "2"


def test_the_time_zone_follows(runner: Runner, monkeypatch: pytest.MonkeyPatch):
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", "XYZ-3")
            time.tzset()
            assert seen_in_workers(
                runner, lambda: time.strftime("%Z %z", time.gmtime(0))
            )
    finally:
        time.tzset()


def test_the_working_directory_follows(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    assert seen_in_workers(runner, os.getcwd) == str(tmp_path)
    monkeypatch.undo()
    assert seen_in_workers(runner, os.getcwd) == os.getcwd()


def test_arguments_and_limits_of_the_interpreter_follow(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "argv", ["a", "b"])
    depth, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    sys.setrecursionlimit(depth + 1000)
    sys.set_int_max_str_digits(10_000)

    def read() -> Any:
        return sys.argv, sys.getrecursionlimit(), sys.get_int_max_str_digits()

    try:
        assert seen_in_workers(runner, read) == (["a", "b"], depth + 1000, 10_000)
    finally:
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(digits)
    assert seen_in_workers(runner, sys.getrecursionlimit) == depth


def test_how_multiprocessing_starts_processes_follows(runner: Runner):
    before = multiprocessing.get_start_method(allow_none=True)

    def read() -> str | None:
        return multiprocessing.get_start_method(allow_none=True)

    try:
        for method in ("spawn", "forkserver", None):
            multiprocessing.set_start_method(method, force=True)
            assert seen_in_workers(runner, read) == method
    finally:
        multiprocessing.set_start_method(before, force=True)


def test_the_context_of_decimals_follows(runner: Runner):
    with decimal.localcontext(prec=5, rounding=decimal.ROUND_UP) as here:
        here.traps[decimal.Inexact] = True

        def read() -> Any:
            there = decimal.getcontext()
            return there.traps[decimal.Inexact], str(there), there.prec

        assert seen_in_workers(runner, read)[2] == 5
    assert seen_in_workers(runner, lambda: decimal.getcontext().prec) == 28


def test_what_numpy_prints_and_bears_follows(runner: Runner):
    def read() -> Any:
        try:
            return str(np.array([1 / 3])), str(np.float32(1) / np.float32(0))
        except FloatingPointError as error:
            return str(error)

    with np.printoptions(precision=2), np.errstate(divide="ignore"):
        assert seen_in_workers(runner, read) == ("[0.33]", "inf")
    with np.errstate(divide="raise"):
        assert "divide by zero" in seen_in_workers(runner, read)
    with np.errstate(divide="ignore"):
        assert seen_in_workers(runner, read) == ("[0.33333333]", "inf")


def test_the_locale_follows(runner: Runner):
    before = locale.setlocale(locale.LC_ALL)
    other = "C.UTF-8" if before == "C" else "C"
    try:
        locale.setlocale(locale.LC_ALL, other)
        assert seen_in_workers(runner, lambda: locale.setlocale(locale.LC_ALL)) == other
    finally:
        locale.setlocale(locale.LC_ALL, before)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "found_late.py").write_text("def read():\n    return 5\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import found_late  # pyright: ignore[reportMissingImports] -- made above

    yield found_late
    del sys.modules["found_late"]


def test_modules_are_found_where_the_coordinator_finds_them(
    runner: Runner, module: Any
):
    read: Callable[[], Any] = module.read
    assert seen_in_workers(runner, read) == 5


def test_what_has_not_changed_is_not_packed_again():
    states, first, again = KeptEncoding(), ProcessState.take(), ProcessState.take()
    assert first.is_plain
    assert states.encode(first) is states.encode(again)


def test_what_has_not_changed_is_equal():
    assert ProcessState.take() == ProcessState.take()
