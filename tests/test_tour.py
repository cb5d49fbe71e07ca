"""The tour runs in a notebook, and its objects show themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import pytest
from nbformat import v4

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"


@pytest.mark.slow
def test_the_tour_runs_and_shows_module_pipeline_progress_report_and_network():
    reads: Any = getattr(v4, "reads")  # noqa: B009 -- it has no types
    notebook: Any = reads(TOUR.read_text(encoding="utf-8"))
    code: list[Any] = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)  # what it shows is not kept
    nbclient.NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
    _, module, pipeline, run, report, network = [cell.outputs for cell in code]
    assert module[0].data["text/html"].count("<details") == 40
    assert "<li><code>FoldConstant</code>" in pipeline[0].data["text/html"]
    assert "<code>CountCalls</code> level 0</li>" in pipeline[0].data["text/html"]
    progress, counted, function = run
    assert "40 of 40 functions" in progress.data["text/plain"]
    assert "'calls': 40" in counted.text
    assert function.data["text/html"].startswith("<pre")
    assert "<table>" in report[0].data["text/html"]
    assert network[0].data["text/plain"] == "array([[10., 10.]], dtype=float32)"
