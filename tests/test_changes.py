"""Fragments of the changelog have types, and the changelog has the version's entry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/changes"
FRAGMENTS = sorted(path for path in FOLDER.iterdir() if path.name != "README.md")
TYPES = "feature|bugfix|doc|removal|misc"
MOST_CHARACTERS = 600


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_has_a_type_and_is_short(path: Path) -> None:
    assert re.fullmatch(rf"[a-z0-9-]+\.({TYPES})\.md", path.name)
    text = path.read_text(encoding="utf-8")
    assert text.strip().endswith(".")
    assert len(text) <= MOST_CHARACTERS
    assert not text.startswith(("#", "*", "-")), "it becomes an item of a list"


def test_the_types_are_those_that_the_page_tells_of() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in TYPES.split("|"))


def test_the_changelog_begins_with_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\S+)", text, re.MULTILINE)
    assert first is not None
    assert first[1] == project["project"]["version"]


def test_the_files_that_the_changelog_names_are_there() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(docs/[\w/-]+\.md)`", text))
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()
