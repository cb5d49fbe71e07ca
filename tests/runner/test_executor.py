"""Words about executors: how a process ended."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from parpass.runner.executor import exit_cause, was_killed


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("sys.exit(3)", "EXIT(3)"),
        ("sys.exit(0)", "EXIT(0)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL(-9)"),
        # One of those that have no names.
        ("os.kill(os.getpid(), signal.SIGRTMIN + 2)", f"EXIT({-signal.SIGRTMIN - 2})"),
    ],
)
def test_the_end_of_a_process_is_named_by_its_exit_code(end: str, cause: str):
    program = f"import os, signal, sys; {end}"
    code = subprocess.run([sys.executable, "-c", program], check=False).returncode
    assert exit_cause(code) == cause
    assert was_killed(cause) == (cause == "SIGKILL(-9)")
