"""What the command prints of errors is what the page on failures shows."""

from __future__ import annotations

import ctypes
from pathlib import Path

import click
import pytest

from docs.site.blocks import blocks
from parpass.cli.output.failure import PassFailure, innermost_frame
from parpass.errors import (
    WorkerDiedError,
    WorkerError,
)
from parpass.limits import LIMITS
from parpass.transform.budget import failure_reason, skip_diagnostic
from parpass.transform.plan import invoke

PAGE = Path(__file__).parents[3] / "docs" / "failures.md"

FAULT = """\
Fatal Python error: Segmentation fault

Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3/threading.py", line 982 in run

Current thread 0x00007f0000000002 (most recent call first):
  File "/home/me/passes.py", line 23 in fold
  File "/home/me/passes.py", line 7 in transform_function
"""


def death() -> WorkerDiedError:
    """Return what becomes of a segmentation fault."""
    return WorkerDiedError(pass_name="Fold", function="main", cause="SIGSEGV(-11)")


def shown_on_the_page() -> list[str]:
    """Return the messages on the page."""
    page = PAGE.read_text(encoding="utf-8")
    return [one.text.removesuffix("\n") for one in blocks(page) if one.kind == "text"]


def test_a_death_is_printed_with_its_reproducer_and_the_innermost_line():
    error = death()
    error.traceback = FAULT
    error.add_note("in pass 'Fold', on function 'main'")
    error.add_note("reproducer: failure.txt")
    assert printed(error) in shown_on_the_page()


@pytest.mark.parametrize(
    "error",
    [
        LIMITS[0].error("Fold", "main", 5.0),
        LIMITS[-1].error("Fold", "main", 2 << 30),
        WorkerError("passes.Broken: no such table"),
    ],
)
def test_errors_are_printed_as_shown(error: Exception):
    assert printed(error) in shown_on_the_page()


def test_what_was_skipped_is_told_as_shown():
    told = skip_diagnostic("Fold", "main", failure_reason(death()))
    assert f"warning: {told.message}" in shown_on_the_page()


def printed(error: Exception) -> str:
    """Return what the command prints."""
    failure = PassFailure(error, with_traceback=False)
    return f"Error: {failure.format_message()}"


def test_where_a_body_crashed_is_where_the_users_own_code_was():
    lines = [
        "Fatal Python error: Segmentation fault",
        "",
        "Current thread 0x1 (most recent call first):",
        f'  File "{ctypes.__file__}", line 519 in string_at',
        f'  File "{click.__file__}", line 1 in call',
        '  File "/home/me/passes.py", line 23 in fold',
        '  File "/home/me/passes.py", line 40 in transform_function',
        f'  File "{invoke.__file__}", line 60 in checked',
        '  File "/home/me/main.py", line 9 in <module>',
    ]
    assert innermost_frame("\n".join(lines)) == "/home/me/passes.py:23, in fold"
    escaped = "\n".join(lines).replace("/passes", r"/p\udcff\xe4sse")
    assert innermost_frame(escaped) == "/home/me/p\udcff\xe4sse.py:23, in fold"
    # A pass of ours, which nobody else's code has called.
    without = [line for line in lines if "passes" not in line]
    expected = f"{ctypes.__file__}:519, in string_at"
    assert innermost_frame("\n".join(without)) == expected
    assert innermost_frame("") is None
