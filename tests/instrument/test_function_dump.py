"""Versions of functions are dumped to files that can be told apart, and are bounded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parpass.errors import ArgumentError
from parpass.instrument import DumpFunctions
from parpass.transform import PassContext, PassInfo, Sequential
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, Duplicate, Keep
from tests.support.toy.texts import change_of

INFO = PassInfo(0, "Some/Pass")


def dumped(directory: Path, *passes: Any, mod: Program, **options: Any) -> list[str]:
    with PassContext(instruments=[DumpFunctions(directory, **options)]):
        Sequential(passes)(mod)
    return files(directory)


def files(directory: Path) -> list[str]:
    found = (one for one in directory.rglob("*") if one.is_file())
    return sorted(one.relative_to(directory).as_posix() for one in found)


def test_what_changed_is_numbered_by_function(tmp_path: Path):
    passes = Add(1), Keep(), Add(2), Duplicate()
    assert dumped(tmp_path, *passes, mod=program(5)) == [
        "f0/000_before.txt",
        "f0/001_Add.txt",
        "f0/002_Add.txt",
        "f0_copy/000_Duplicate.txt",
    ]
    assert (tmp_path / "f0/000_before.txt").read_text() == "# \nf0: (5,)\n"
    made = (tmp_path / "f0/002_Add.txt").read_text()
    why = "programs of this IR cannot be read"
    assert made == f"// Add made this of 001_Add.txt; {why}\n# \nf0: (8,)\n"
    added = (tmp_path / "f0_copy/000_Duplicate.txt").read_text()
    assert added.startswith("// Duplicate added this function\n")


def test_what_came_between_two_dumped_passes_is_dumped_before_the_second(
    tmp_path: Path,
):
    passes = Add(1), Duplicate(), Add(2)
    kept = dumped(tmp_path, *passes, mod=program(5), passes=["Dup*"], functions=["f*"])
    assert kept == ["f0_copy/000_Duplicate.txt"]
    instrument = DumpFunctions(tmp_path / "more")
    for before, after in (("a", "b"), ("c", "d"), ("d", None)):
        instrument.on_function_changed(INFO, change_of("f", before, after))
    assert files(tmp_path / "more") == [
        "f/000_before.txt",
        "f/001_Some_Pass.txt",
        "f/002_before.txt",
        "f/003_Some_Pass.txt",
        "f/004_Some_Pass.txt",
    ]
    removed = (tmp_path / "more/f/004_Some_Pass.txt").read_text()
    assert removed.endswith("\n// Some/Pass removed it\n")


@given(st.lists(st.text(), unique=True, min_size=1, max_size=6))
@example(["", ".", "..", "con", "Con", "nul.txt", "a.", "../a", "x" * 5000, "x" * 5001])
@example(["main", "Main", "MAIN", "ß", "ss", "\ud800", "a\nb", "a~b", "-rf"])
def test_folders_of_two_functions_differ_on_every_file_system(names: list[str]):
    with tempfile.TemporaryDirectory() as name:
        instrument = DumpFunctions(name)
        for one in names:
            instrument.on_function_changed(INFO, change_of(one, "a", "b"))
        folders = [one.name for one in Path(name).iterdir()]
        assert len({one.casefold() for one in folders}) == len(names)
        assert all(one.isascii() and len(one) < 130 for one in folders)
        assert not any(one.startswith(("-", ".")) or one[-1] == "." for one in folders)


def test_a_dump_ends_at_its_limit_and_says_so_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    passes = [Add(1)] * 5
    found = dumped(tmp_path, *passes, mod=program(*range(50)), limit=1000)
    assert sum((tmp_path / one).stat().st_size for one in found) <= 1000
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith("WARNING: DumpFunctions: 1,000 bytes are the limit; what")


def test_a_full_disk_is_one_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    instrument = DumpFunctions(tmp_path)
    (tmp_path / "f0").mkdir()
    (tmp_path / "f0/001_Add.txt").symlink_to("/dev/full")
    with PassContext(instruments=[instrument]):
        new = Sequential([Add(1), Add(2)])(program(5, 6))
    assert new == program(8, 9)
    (warning,) = capsys.readouterr().err.splitlines()
    assert "No space left on device; what is left is lost" in warning
    assert files(tmp_path) == ["f0/000_before.txt"]


def test_where_nothing_can_be_dumped_is_refused_at_once(tmp_path: Path):
    (tmp_path / "old").write_text("")
    for directory, why in (
        (tmp_path, "expected an empty directory, and '.*' has 'old'"),
        (tmp_path / "old", "no directory to write to"),
        (tmp_path / "old/new", "no directory to write to"),
    ):
        with pytest.raises(ArgumentError, match=why):
            DumpFunctions(directory)
    with pytest.raises(ArgumentError, match="0 bytes or more, got -1"):
        DumpFunctions(tmp_path / "new", limit=-1)
