"""Spans survive passes, but for what the table in docs/seeing.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.spans import lost_spans

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "tests" / "cases").rglob("*.txt"))


def documented() -> dict[str, set[str]]:
    """Return what has no span behind each pass, as the table says, by case files."""
    text = (ROOT / "docs" / "seeing.md").read_text()
    _, begins, rest = text.partition("| pass | makes without a span |")
    assert begins
    rows = re.findall(r"^\| (\S+) \| (.+) \|$", rest.partition("\n\n")[0], re.MULTILINE)
    return {_file_of(name): set(re.findall(r"`(\S+)`", what)) for name, what in rows}


def _file_of(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removeprefix("tir."))
    return {"To_CPS": "to_cps", "Lower_TE": "lower_te"}.get(words, words.lower())


def test_the_table_is_of_passes_that_have_cases():
    assert documented().keys() <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_spans_are_kept_as_documented(path: Path):
    assert lost_spans(path) == documented().get(path.stem, set())
