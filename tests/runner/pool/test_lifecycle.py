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
