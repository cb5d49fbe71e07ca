"""The pages on the architecture name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DECISIONS = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
PAGES = ["architecture.md", *(f"decisions/{path.name}" for path in DECISIONS)]
FILE = re.compile(r"`([\w/]+\.(?:py|md|toml))`")


# Files are named from the root, or from the package that a passage is about.
FOLDERS = [ROOT, ROOT / "docs", *(p for p in (ROOT / "parpass").glob("**/"))]


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_are_there(page: str):
    named = set(FILE.findall((ROOT / "docs" / page).read_text()))
    missing = {
        name
        for name in named
        if not any((folder / name).exists() for folder in FOLDERS)
    }
    assert not missing


def test_the_page_has_the_rooms_that_there_are():
    text = (ROOT / "docs/architecture.md").read_text()
    packages = {
        path.stem
        for path in (ROOT / "parpass").iterdir()
        if not path.name.startswith(("_", "py."))
    }
    assert {
        package for package in packages if not re.search(rf"\b{package}\b", text)
    } == set()
