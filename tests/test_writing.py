"""The snippets of the pages on writing run as they stand, one after the other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.docs import snippets
from tests.support.reducers import reducers_put_back
from tests.support.registering import registering_for_a_while

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "tests"),
    [
        ("failures", 2, 0),
        ("with-dask", 1, 0),
        ("with-qiskit", 2, 0),
        ("writing-a-pass", 6, 3),
        ("writing-an-adapter", 8, 2),
    ],
)
def test_the_snippets_of_the_page_run(
    name: str,
    count: int,
    tests: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = DOCS / f"{name}.md"
    found = [*snippets(path)]
    assert len(found) == count
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    names: dict[str, Any] = {"__name__": name.replace("-", "_")}
    files: set[str] = set()
    with registering_for_a_while(), reducers_put_back():
        for file, snippet, before in found:
            if file:  # which a later snippet imports
                files.add(file)
                with open(tmp_path / file, "a", encoding="utf-8") as written:
                    written.write(snippet)
            else:
                exec(compile("\n" * before + snippet, str(path), "exec"), names)
        claims = [name for name in names if name.startswith("test_")]
        assert len(claims) == tests
        for claim in claims:
            names[claim]()
        names.get("main", lambda: None)()
    for file in files:
        sys.modules.pop(file.removesuffix(".py"), None)
