"""What is left in a process of runs, once its runners and kept workers are ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import os, threading
import parpass
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add

def check(run):
    made = run(program(1, 2, 3), Add(1), context=pooled())
    assert values_of(made) == {"f0": (2,), "f1": (3,), "f2": (4,)}

def run_by_runner():
    with parpass.open_runner(workers=2) as runner:
        check(runner.run_sync)

def run_by_call():
    check(parpass.run_pipeline_sync)
    parpass.runner.end_idle_workers()

def descriptors():
    return set(os.listdir("/dev/fd"))
"""

NOTHING_IS_LEFT = """
run_by_call()  # the resource trackers, and their descriptors, stay
for run in (run_by_runner, run_by_call):
    before = descriptors()
    run()
    assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
    assert descriptors() == before
"""

CLOSES_DESCRIPTORS = """
for run in (run_by_runner, run_by_call, run_by_runner):
    run()
    os.closerange(3, 4096)
"""


@pytest.mark.parametrize("then", [NOTHING_IS_LEFT, CLOSES_DESCRIPTORS])
def test_no_thread_nor_descriptor_of_a_run_is_left_that_is_ended(then: str):
    subprocess.run(
        [sys.executable, "-c", PROGRAM + then],
        check=True,
        timeout=200,
        cwd=Path(__file__).parents[3],
        env=os.environ,
    )


KEPT = """
import gc, tempfile, time, warnings
from parpass.runner import open_runner
from parpass.runner.pool import event_loops, worker_process
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add

event_loops.IDLE_SECONDS, worker_process._POLL_SECONDS = 2.0, 0.2
mod = program(*range(300))

def check(run, **how):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = run(mod, [Add(1)], context=pooled(), **how)
    assert values_of(made)["f1"] == (2,)
    return [str(one.message) for one in told]

def check_closing(run, **how):
    assert check(run, **how) == []
    gc.collect()
    time.sleep(0.5)  # what the run itself has opened is closed
    os.closerange(3, 4096)
    files = [tempfile.TemporaryFile() for _ in range(REUSED)]
    for file in files:
        file.write(b"mine")
        file.seek(0)
    [message] = check(run, **how)
    assert "the program has closed descriptors of its workers" in message
    time.sleep(3)
    # Nobody has closed them, read from them or written to them.
    assert [file.read() for file in files] == [b"mine"] * REUSED
"""
BY_RUNNER = """
with open_runner(workers=1) as runner:
    check_closing(runner.run_sync)
"""
BY_CALL = """
check_closing(parpass.run_pipeline_sync, workers=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("reused", [0, 50])
@pytest.mark.parametrize("run", [BY_RUNNER, BY_CALL])
def test_where_descriptors_of_kept_workers_are_closed_a_run_stays_here(
    run: str, reused: int
):
    script = f"import os, parpass\nREUSED = {reused}\n{KEPT}{run}"
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=200,
        cwd=Path(__file__).parents[3],
        env=os.environ,
    )
