"""The cells of the page on notebooks run in a kernel, and objects show themselves."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import nbclient
import pytest
from nbformat import v4

from docs.site.notebooks import notebook

PAGE = Path(__file__).parents[2] / "docs" / "in-notebooks.md"

# Twelve stages, of which the last is told of from another thread and goes on.
BARS = """
import threading
from parpass.runner import NotebookProgress, Progress, WorkerActivity

def show():
    for at in range(1, 13):
        at_work = WorkerActivity(7, "Fold", f"<f{at}>", 5.0),
        bars(Progress(at, ("Fold",), 1, 2, 0.0, 3.0, at_work, at_work, None, False))

bars = NotebookProgress()
thread = threading.Thread(target=show)
thread.start()
thread.join()
"""


@pytest.mark.slow
def test_the_page_runs_and_shows_module_pipeline_progress_and_report():
    reads: Any = getattr(v4, "reads")  # noqa: B009 -- it has no types
    made: Any = reads(notebook(PAGE.read_text(encoding="utf-8")))
    made.cells.append(getattr(v4, "new_code_cell")(BARS))  # noqa: B009 -- as above
    code: list[Any] = [cell for cell in made.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)  # what it shows is not kept
    nbclient.NotebookClient(made, timeout=100, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in code]
    module, pipeline, run, report, change, bars = outputs
    assert module[0].data["text/html"].count("<details") == 40
    assert "<li><code>FoldConstant</code>" in pipeline[0].data["text/html"]
    assert "<code>CountCalls</code> level 0</li>" in pipeline[0].data["text/html"]
    progress, counted, function = run
    assert "40 of 40 functions" in progress.data["text/plain"]
    assert '<progress value="40" max="40">' in progress.data["text/html"]
    assert "'calls': 40" in counted.text
    assert function.data["text/html"].startswith("<pre")
    assert "<table>" in report[0].data["text/html"]
    assert "Advice: " in report[0].data["text/plain"]
    assert change[0].data["text/plain"].startswith("changed f7\n@@ ")
    assert "add(%x, 8f" in change[0].data["text/html"]
    text, html = bars[0].data["text/plain"].splitlines(), bars[0].data["text/html"]
    assert text[:2] == ["2 stages before", "stage 3: 2 of 2 functions, 0 s (Fold)"]
    assert text[-1] == "stage 12: 1 of 2 functions, 0 s, about 3 s left (Fold)"
    assert len(text) == 11
    assert html.count('<progress value="2" max="2">') == 9
    worker = escape("worker 7: Fold on '<f12>', 5.00 s, slow")
    assert html.endswith(f"&emsp;{worker}</div>")
