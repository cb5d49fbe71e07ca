"""The snippets of docs/writing-a-pass.md run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from parpass.runtime.registry import remove_global_func

PAGE = Path(__file__).parents[1] / "docs" / "writing-a-pass.md"


def test_the_snippets_of_the_page_run() -> None:
    page = PAGE.read_text()
    snippets = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(snippets) == 5
    names: dict[str, Any] = {"__name__": "writing_a_pass"}
    try:
        for snippet in snippets:
            line = page[: page.index(snippet)].count("\n")
            exec(compile("\n" * line + snippet, str(PAGE), "exec"), names)
        tests = [name for name in names if name.startswith("test_")]
        assert len(tests) == 3
        for name in tests:
            names[name]()
    finally:
        remove_global_func("my.DropDoubleNegation")
