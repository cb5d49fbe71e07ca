"""The progress of runs in the output of a notebook's cell."""

from __future__ import annotations

import sys
from typing import Any

from parpass.errors import ArgumentError
from parpass.lazy_loader import load_module
from parpass.notebook_html import mime_bundle, progress_bar
from parpass.report.progress import Progress
from parpass.report.progress_text import stage_text, worker_lines

_MAX_STAGES = 10


class NotebookProgress:
    """A callback for `progress=` that shows the progress of a run in a notebook.

    Each stage has a line with a bar; below the current stage's line is the activity of
    each worker. The display is updated in place::

        new = await run_pipeline(mod, pipeline, progress=NotebookProgress())

    It appears in the output of the cell that creates it, whichever thread calls it.
    Another run with the same object starts afresh.

    Raises:
        ArgumentError: This is not a notebook.
    """

    def __init__(self) -> None:
        self._stages: dict[int, Progress] = {}
        self._has_ended = False
        self._handle = _displayed(mime_bundle("not begun", progress_bar("", 0, 1)))

    def __call__(self, progress: Progress) -> None:
        if self._has_ended:
            self._stages.clear()
        self._has_ended = progress.is_last
        self._stages[progress.stage] = progress
        self._handle.update(self._bundle(progress), raw=True)

    def _bundle(self, current: Progress) -> dict[str, str]:
        stages = [
            one if one is current else _over(one) for one in self._stages.values()
        ]
        left_out = len(stages) - _MAX_STAGES
        head = [f"{left_out} stages before"] if left_out > 0 else []
        shown = stages[-_MAX_STAGES:]
        text = "\n".join([*head, *map(stage_text, shown)])
        bars = [*(f"<div>{one}</div>" for one in head), *map(_bar, shown)]
        return mime_bundle(text, "".join(bars))


def _over(stage: Progress) -> Progress:
    """Return a stage at its end, which the stage after it implies."""
    return stage._replace(
        done=stage.functions, eta=None, workers=(), slow=(), is_last=True
    )


def _bar(stage: Progress) -> str:
    done, whole = stage.done, stage.functions
    if not whole:  # a module pass
        done, whole = int(stage.is_last), 1
    workers = [] if stage.is_last else worker_lines(stage)
    return progress_bar(stage_text(stage), done, whole, workers)


def _displayed(bundle: dict[str, str]) -> Any:
    """Display text and HTML in a cell's output; return the handle that updates them."""
    # A notebook has loaded it; elsewhere it is not looked for.
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        raise ArgumentError(
            "NotebookProgress needs a notebook, and this is not one; set "
            "progress=True, which writes lines to standard error"
        )
    # As above.
    display: Any = load_module("IPython.display").display
    return display(bundle, raw=True, display_id=True)
