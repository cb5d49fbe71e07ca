"""The snippets of the pages on writing run as they stand, one after the other."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.registering import registering_for_a_while

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "snippets", "tests"),
    [("writing-a-pass", 5, 3), ("writing-an-adapter", 7, 2)],
)
def test_the_snippets_of_the_page_run(
    name: str,
    snippets: int,
    tests: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = DOCS / f"{name}.md"
    page = path.read_text()
    found = re.findall(r"^```python *(.*?)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(found) == snippets
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    names: dict[str, Any] = {"__name__": name.replace("-", "_")}
    files: set[str] = set()
    with registering_for_a_while():
        for file, snippet in found:
            if file:  # which a later snippet imports
                files.add(file)
                with open(tmp_path / file, "a", encoding="utf-8") as written:
                    written.write(snippet)
            else:
                line = page[: page.index(snippet)].count("\n")
                exec(compile("\n" * line + snippet, str(path), "exec"), names)
        claims = [name for name in names if name.startswith("test_")]
        assert len(claims) == tests
        for claim in claims:
            names[claim]()
    for file in files:
        sys.modules.pop(file.removesuffix(".py"), None)
