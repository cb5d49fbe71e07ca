"""How far a build is: kernel by kernel, and which one took longest."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from parpass.runner import Progress, watching_progress
from parpass.runner.report.figures import time_text

_LONGEST_NAME = 40


@contextlib.contextmanager
def showing_progress(console: Console | None = None) -> Generator[None]:
    """Show on standard error, if that is a terminal, how far workers are."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        line = bar.add_task("", total=None)
        longest = 0.0

        def tell(progress: Progress) -> None:
            nonlocal longest
            bar.update(line, completed=progress.done, total=progress.functions)
            if progress.seconds > longest:
                longest = progress.seconds
                name = escape(progress.function[:_LONGEST_NAME])
                told = f"longest {name}, {time_text(longest)}"
                bar.update(line, description=told)

        with watching_progress(tell):
            yield
