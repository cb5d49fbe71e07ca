"""The page's session on the sources of the standard library shows what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.site.blocks import blocks
from tests.support.docs.steps import snippets
from tests.support.docs.typed_pages import shown_by

PAGE = Path(__file__).parents[3] / "docs" / "with-codemods.md"
NUMBER = re.compile(r"\d[\d,.]*")


@pytest.mark.stress
def test_a_thousand_files_are_changed_crash_and_are_interrupted(tmp_path: Path):
    [code] = [one.text for one in snippets(PAGE) if one.file == "modern.py"]
    (tmp_path / "modern.py").write_text(code, encoding="utf-8")
    texts = (one for one in blocks(PAGE.read_text("utf-8")) if one.kind == "text")
    found = [session for one in texts if (session := one.session())]
    assert len(found) == 4
    for command, shown in found:
        printed = shown_by(command, tmp_path)
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown), command
