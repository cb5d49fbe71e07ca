"""Pages on the architecture and sources name files that there are; helpers have places.

A helper of tests, a module that has none itself, stands beside the tests that use it,
if all of them are in one folder, and else in `tests/support`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DECISIONS = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
PAGES = [
    "architecture.md",
    "embedded-compiler.md",
    *(f"decisions/{path.name}" for path in DECISIONS),
]
SOURCES = ["parpass/*.py", "parpass/*/**/*.py", "bench/**/*.py"]
FILE = re.compile(r"`([\w/]+\.(?:py|md|toml))`")


# Files are named from the root, or from the package that a passage is about.
FOLDERS = [ROOT, ROOT / "docs", *(p for p in (ROOT / "parpass").glob("**/"))]


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_are_there(page: str):
    assert not _missing(ROOT / "docs" / page)


@pytest.mark.parametrize("sources", SOURCES)
def test_the_files_that_sources_name_are_there(sources: str):
    named = {path: _missing(path) for path in ROOT.glob(sources)}
    assert named
    assert {path: names for path, names in named.items() if names} == {}


def test_the_files_that_helpers_of_tests_name_are_there():
    named = {path: _missing(path) for path in _helpers()}
    assert {path: names for path, names in named.items() if names} == {}


def test_a_file_that_is_not_there_is_found(tmp_path: Path):
    source = tmp_path / "module.py"
    source.write_text('"""See `plan/plan.py` and `plan/gone.py`."""\n')
    assert _missing(source) == {"plan/gone.py"}


def test_the_page_has_the_packages_that_there_are():
    text = (ROOT / "docs/architecture.md").read_text()
    packages = {
        path.stem
        for path in (ROOT / "parpass").iterdir()
        if not path.name.startswith(("_", "py."))
    }
    assert {
        package for package in packages if not re.search(rf"\b{package}\b", text)
    } == set()


def test_a_helper_that_is_for_the_tests_of_one_folder_stands_there():
    support = {path for path in _helpers() if _is_support(path)}
    assert support
    assert {path: _users()[path] for path in support if _is_of_one(path)} == {}


def test_a_helper_that_is_for_the_tests_of_many_folders_is_support():
    beside = {path for path in _helpers() if not _is_support(path)}
    assert beside
    away = {path for path in beside if _folders(path) != {path.parent}}
    assert {path: _users()[path] for path in away} == {}


def test_users_of_a_helper_are_found_by_name_and_through_other_helpers():
    toy = ROOT / "tests/support/toy"
    assert ROOT / "tests/cli/options/test_listing.py" in _users()[toy / "passes.py"]
    assert ROOT / "tests/runner/test_law.py" in _users()[toy / "analyses.py"]
    assert ROOT / ".ci/run" in _users()[ROOT / "tests/support/wording.py"]


# Names of modules of tests: imported, or in text, as for `--load`.
_NAMED = re.compile(r"from (tests[\w.]*) import (\([^)]*\)|[^\n]*)|(tests(?:\.\w+)+)")


@cache
def _helpers() -> frozenset[Path]:
    tests = ROOT / "tests"
    return frozenset(
        path
        for path in tests.rglob("*.py")
        if not path.name.startswith(("test_", "conftest"))
        and path.parent != tests / "typing"  # programs for type checkers
    )


@cache
def _users() -> dict[Path, set[Path]]:
    """Return the files that use each helper, also by way of other helpers."""
    helpers = {_module_name(path): path for path in _helpers()}
    named: dict[Path, set[Path]] = defaultdict(set)
    for user in (*_files(), *_helpers()):
        for name in _names(user.read_text(encoding="utf-8")):
            if (helper := helpers.get(name)) not in (None, user):
                named[helper].add(user)
    return {helper: _reached(helper, named) for helper in _helpers()}


def _files() -> Iterator[Path]:
    yield from (ROOT / ".ci/run", ROOT / "CONTRIBUTING.md")
    for folder in ("tests", "bench", "docs", "examples"):
        yield from {*(ROOT / folder).rglob("*.py")} - _helpers()


def _names(text: str) -> Iterator[str]:
    """Yield the names of modules in a text, and of what may be one of a package."""
    for package, names, alone in _NAMED.findall(text):
        yield alone or package
        yield alone.rpartition(".")[0]  # of a name in a module
        yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))


def _reached(helper: Path, named: dict[Path, set[Path]]) -> set[Path]:
    found, left = set[Path](), [helper]
    while left:
        new = named[left.pop()] - found
        found |= new
        left += new & _helpers()
    return found - _helpers()


def _folders(helper: Path) -> set[Path]:
    return {user.parent for user in _users()[helper]}


def _is_of_one(helper: Path) -> bool:
    """Return whether one file uses a helper, or those of one folder; or nothing does.

    What the files at the top use is not beside them, since they are about all of it.
    """
    folders = _folders(helper) - {ROOT / "tests"}
    return len(_users()[helper]) < 2 or len(folders) == 1 == len(_folders(helper))


def _is_support(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests/support")


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _missing(path: Path) -> set[str]:
    return {
        name
        for name in FILE.findall(path.read_text(encoding="utf-8"))
        if not any((folder / name).exists() for folder in FOLDERS)
    }
