"""The executor of the examples keeps what executors promise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.own_executor import ProcessExecutor
from parpass.errors import FunctionTimeoutError, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import Sequential
from tests.support.runner.pooled import pooled, run_pooled
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add, AddFrom
from tests.support.toy.probing import seen_in_workers

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own_runner() -> Iterator[Runner]:
    executor = ProcessExecutor(2)
    with open_runner(executor=executor) as runner:
        yield runner
    executor.close()


def test_the_law_holds_on_it(own_runner: Runner):
    steps = Sequential([Add(1), AddFrom("f1"), Add(2)])
    mod = program(*range(30))
    assert values_of(run_pooled(own_runner, steps, mod)) == values_of(steps(mod))


def test_its_workers_follow_the_program(
    own_runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_TEST_FOLLOWED", "1")
    assert seen_in_workers(own_runner, lambda: os.environ["PARPASS_TEST_FOLLOWED"])


def test_a_pass_that_kills_its_worker_is_blamed_and_the_next_run_is_well(
    own_runner: Runner,
):
    mod = program(*range(9))
    with pytest.raises(WorkerDiedError) as caught:
        own_runner.run_sync(mod, EndIn("segfault", 7), context=pooled())
    assert caught.value.function == "f7"
    assert run_pooled(own_runner, Add(1), mod) == Add(1)(mod)


def test_a_pass_that_hangs_is_ended(own_runner: Runner):
    with pytest.raises(FunctionTimeoutError):
        own_runner.run_sync(
            program(*range(4)),
            EndIn("hang", 2),
            context=pooled(),
            function_timeout=0.3,
        )


def test_the_example_runs():
    ran = subprocess.run(
        [sys.executable, "examples/own_executor.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "20 functions sent" in ran.stdout
    assert ran.stderr == ""
