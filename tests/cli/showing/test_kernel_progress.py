"""What is shown to those who wait for a build."""

from __future__ import annotations

import io

from rich.console import Console

from parpass.cli.showing.kernel_progress import showing_progress
from parpass.runner import Progress
from parpass.runner.stage.progress import WATCHER


def shown(*, is_terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=120)
    with showing_progress(console):
        watcher = WATCHER.get()
        if watcher is not None:
            watcher(Progress("fused_conv2d", 0.5, 1, 3))
            watcher(Progress("fused_add", 0.1, 2, 3))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_terminal_shows_how_many_are_done_and_which_took_longest():
    text = shown(is_terminal=True)
    assert "2/3" in text
    assert "longest fused_conv2d, 500.0 ms" in text
    assert "fused_add" not in text


def test_nothing_else_is_shown_anything():
    assert shown(is_terminal=False) == ""
