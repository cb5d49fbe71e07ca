"""What a command shows of its progress, and what of it does not get in the way."""

from __future__ import annotations

import io
import sys

import pytest

from parpass.cli.output import progress_display
from parpass.cli.output.progress_display import (
    showing_progress,
    terminal_lines,
)
from parpass.report.progress_text import one_line
from parpass.runner import Progress, WorkerActivity

FAST = WorkerActivity(11, "Fold", "main", 0.5)
SLOW = WorkerActivity(12, "Fuse", "f7", 14.0)
HALF = Progress(
    3, ("Fold", "Fuse"), 5, 10, 20.0, 20.0, (FAST, SLOW), (SLOW,), ("f1", 1.0), False
)
WHOLE = HALF._replace(done=10, workers=(), slow=(), is_last=True)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no time pass before anything is shown."""
    monkeypatch.setattr(progress_display, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress_display, "_LINE_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_has_a_line_for_each_worker_slow_ones_first():
    text = "stage 3: 5 of 10 functions, 20 s, about 20 s left (Fold, Fuse)"
    assert terminal_lines(HALF) == [
        f"##########.......... {text}",
        "  worker 12: Fuse on 'f7', 14.00 s, slow",
        "  worker 11: Fold on 'main', now",
    ]


@pytest.mark.usefixtures("at_once")
def test_the_lines_make_way_for_other_text_and_are_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with showing_progress(quiet=False) as show:
        assert show is not None
        show(HALF)
        drawn = terminal.getvalue()
        assert "5 of 10" in drawn
        sys.stderr.write("a diagnostic\n")
        assert terminal.getvalue() == drawn + "\r\x1b[J" + "a diagnostic\n"
        sys.stderr.write("half a line")
        before = terminal.getvalue()
        show(HALF)
        assert terminal.getvalue() == before
        sys.stderr.write(", whole\n")
        show(HALF)
        show(WHOLE)
        assert terminal.getvalue().endswith("\r\x1b[J")
    assert sys.stderr is terminal


@pytest.mark.usefixtures("at_once")
def test_where_there_is_no_terminal_whole_lines_are_written(
    monkeypatch: pytest.MonkeyPatch,
):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with showing_progress(quiet=False) as show:
        assert show is not None
        show(HALF)
        show(WHOLE)
    assert file.getvalue() == f"Progress: {one_line(HALF)}\n"


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_short_run_shows_nothing_nor_does_a_quiet_one(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
):
    file = stream()
    monkeypatch.setattr(sys, "stderr", file)
    with showing_progress(quiet=False) as show:
        assert show is not None
        show(HALF)
        show(WHOLE)
    with showing_progress(quiet=True) as show:
        assert show is None
        assert sys.stderr is file
    assert file.getvalue() == ""


@pytest.mark.usefixtures("at_once")
def test_nobody_is_troubled_where_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch,
):
    file = Terminal()
    monkeypatch.setattr(sys, "stderr", file)
    with showing_progress(quiet=False) as show:
        assert show is not None
        file.close()
        show(HALF)
