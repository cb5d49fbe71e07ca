"""Which files a codemod is run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from parpass.errors import ArgumentError
from parpass.integrations.codemod.file_tree import find_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a.py",
        "b.pyi",
        "script",
        "pkg/c.py",
        "pkg/tests/d.py",
        "pkg/__pycache__/e.py",
        ".git/f.py",
        "env/pyvenv.cfg",
        "env/lib/g.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / "linked").symlink_to("pkg", target_is_directory=True)
    return tmp_path


def found(tree: Path, *paths: str, **options: list[str]) -> list[str]:
    given = [tree / path for path in paths or ("",)]
    return [str(Path(one).relative_to(tree)) for one in find_files(given, **options)]


def test_folders_are_gone_through_without_links_and_environments(tree: Path):
    assert found(tree) == ["a.py", "pkg/c.py", "pkg/tests/d.py"]
    assert found(tree, include=["*.pyi", "a*"]) == ["a.py", "b.pyi"]
    assert found(tree, exclude=["tests"]) == ["a.py", "pkg/c.py"]
    assert found(tree, exclude=["pkg/t*/", "a.py"]) == ["pkg/c.py"]


def test_what_is_named_is_taken_once(tree: Path):
    assert found(tree, "script", "link.py", "a.py", "") == [
        "link.py",
        "pkg/c.py",
        "pkg/tests/d.py",
        "script",
    ]
    assert found(tree, ".git", "env/lib") == [".git/f.py", "env/lib/g.py"]


def test_no_file_is_an_error_that_says_what_was_looked_for(tree: Path):
    with pytest.raises(ArgumentError, match="there is no file or folder 'nowhere'"):
        find_files(["nowhere"])
    with pytest.raises(ArgumentError, match=r"matches \*\.txt in '.*pkg'"):
        find_files([tree / "pkg"], ["*.txt"])
