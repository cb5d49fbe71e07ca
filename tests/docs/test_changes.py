"""Fragments of the changelog have types, and the changelog has the version's entry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import parpass

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/changes"
FRAGMENTS = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TYPES = "|".join(one["directory"] for one in SETTINGS["tool"]["towncrier"]["type"])
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
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\S+)", text, re.MULTILINE)
    assert first is not None
    assert first[1] == parpass.__version__


def test_the_version_is_in_one_place() -> None:
    assert "version" in SETTINGS["project"]["dynamic"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert "version" not in SETTINGS["project"].keys() | citation.keys()


def test_the_citation_has_what_its_format_asks_for() -> None:
    # `cffconvert --validate` would need versions of libraries that others cannot have.
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert found.keys() >= {"cff-version", "message", "title", "authors"}
    assert (found["cff-version"], found["type"]) == ("1.2.0", "software")
    assert found["license"] == SETTINGS["project"]["license"]
    for one in [found, *found["references"]]:
        assert one["authors"]
        assert all("name" in author for author in one["authors"])


def test_the_files_that_the_changelog_names_are_there() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(docs/[\w/-]+\.md)`", text))
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()
