"""What jobs took, and what of it they had no processor for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from parpass.runner.worker.job_clock import JobClock


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells")
def test_what_a_brief_job_waits_for_itself_is_no_queue():
    clock = JobClock(is_own_process=False, is_brief=True)
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    times = clock.times()
    assert times.seconds > times.processor
    assert times.queued == 0.0


@pytest.mark.parametrize("is_brief", [True, False])
def test_no_more_is_queued_for_than_there_was_time(is_brief: bool):
    times = JobClock(is_own_process=False, is_brief=is_brief).times()
    assert 0.0 <= times.queued <= times.seconds
    assert times.processor >= 0.0
