"""What jobs took, and what of it they had no processor for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from parpass.runner.worker.monitor import JobTimer


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells")
def test_what_a_brief_job_waits_for_itself_is_no_queue():
    clock = JobTimer(is_own_process=False, is_short=True)
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    times = clock.times()
    assert times.seconds > times.processor
    assert times.queued == 0.0


@pytest.mark.parametrize("is_short", [True, False])
def test_no_more_is_queued_for_than_there_was_time(is_short: bool):
    times = JobTimer(is_own_process=False, is_short=is_short).times()
    assert 0.0 <= times.queued <= times.seconds
    assert times.processor >= 0.0
