"""Pages of which a reader types everything print what they show, also as notebooks.

CI runs the long forms here each time, not a share of them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbclient
import pytest
from nbformat import v4

from docs.site.notebooks import cells, notebook, notebooks, page_of
from tests.support.cells import at_times
from tests.support.docs.typed_pages import typed, without_clocks

DOCS = Path(__file__).parents[2] / "docs"
TOUR = [
    "tour/1-a-pass",
    "tour/2-a-pipeline",
    "tour/3-every-core",
    "tour/4-a-service",
    "tour/5-machine-code",
]
PAGES = [*TOUR, "from-joblib", "in-ci"]
_LIGHT = ["tour/1-a-pass", "tour/5-machine-code"]
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def read(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.slow
@at_times("page", _LIGHT, [page for page in PAGES if page not in _LIGHT])
def test_the_page_prints_what_it_shows(page: str, tmp_path: Path):
    text = read(page)
    assert without_clocks(typed(text, tmp_path)) == without_clocks(text)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_the_sum_of_its_cells(page: str):
    assert page_of(list(cells(read(page)))) == read(page)


def test_notebooks_have_the_cells_of_the_tour_with_what_they_print():
    assert list(notebooks()) == [*TOUR, "in-notebooks"]
    page = "# A\n\n[B](b.md).\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
    page += "```text b.txt\nC\n```\n\n```console\n$ cat b.txt\nC\n```\n"
    page += "\n```text\nD\n```\n"  # which is not what Python before it prints
    made = json.loads(notebook(page))["cells"]
    assert ["".join(cell["source"]) for cell in made] == [
        "# A\n\nB.",
        "print(1)",
        "%%writefile b.txt\nC",
        "!cat b.txt",
        "```text\nD\n```",
    ]
    shown = [["".join(one["text"]) for one in cell["outputs"]] for cell in made[1:-1]]
    assert shown == [["1\n"], [], ["C\n"]]


@pytest.mark.stress
@pytest.mark.parametrize("page", TOUR)
def test_the_notebook_of_a_page_prints_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    text = read(page)
    reads: Any = getattr(v4, "reads")  # noqa: B009 -- it has no types
    made: Any = reads(notebook(text))
    client = nbclient.NotebookClient(
        made,
        timeout=100,
        kernel_name="python3",
        resources={"metadata": {"path": tmp_path}},
    )
    client.execute()
    expected = [part for part in cells(text) if part.kind in ("python", "console")]
    ran = [
        cell
        for cell in made.cells
        if cell.cell_type == "code" and not cell.source.startswith("%%writefile")
    ]
    for part, cell in zip(expected, ran, strict=True):
        printed = "".join(one.text for one in cell.outputs)
        plain = _COLOUR.sub("", printed).replace("\r\n", "\n")
        # Standard output and standard error are two streams, in no order.
        lines = sorted(without_clocks(plain).splitlines())
        assert lines == sorted(without_clocks(part.shown).splitlines())
