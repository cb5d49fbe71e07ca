"""Pages of which a reader types everything print what they show, also as notebooks."""

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
from tests.support.typed_pages import typed, without_clocks

DOCS = Path(__file__).parents[1] / "docs"
TOUR = sorted(DOCS.glob("tour/[0-9]*.md"))
PAGES = [*TOUR, DOCS / "from-joblib.md", DOCS / "in-ci.md"]
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_prints_what_it_shows(page: Path, tmp_path: Path):
    text = page.read_text(encoding="utf-8")
    assert without_clocks(typed(text, tmp_path)) == without_clocks(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_the_sum_of_its_cells(page: Path):
    text = page.read_text(encoding="utf-8")
    assert page_of(list(cells(text))) == text


def test_notebooks_have_the_cells_of_the_tour_with_what_they_print():
    assert list(notebooks()) == [
        *(f"tour/{page.stem}" for page in TOUR),
        "in-notebooks",
    ]
    page = "# A\n\n[B](b.md).\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
    page += "```text b.txt\nC\n```\n\n```console\n$ cat b.txt\nC\n```\n"
    made = json.loads(notebook(page))["cells"]
    assert ["".join(cell["source"]) for cell in made] == [
        "# A\n\nB.",
        "print(1)",
        "%%writefile b.txt\nC",
        "!cat b.txt",
    ]
    shown = [["".join(one["text"]) for one in cell["outputs"]] for cell in made[1:]]
    assert shown == [["1\n"], [], ["C\n"]]


@pytest.mark.stress
@pytest.mark.parametrize("page", TOUR, ids=lambda page: page.stem)
def test_the_notebook_of_a_page_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    text = page.read_text(encoding="utf-8")
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
        assert without_clocks(plain) == without_clocks(part.shown)
