"""`parpass cache` says what builds do: what they use, and what they refuse, and why."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.errors import SlowerRunWarning
from parpass.object_store import ObjectStore
from tests.support.permissions import may_write_nothing


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a store that has two objects."""
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    ObjectStore().put({"a": b"1", "b": b"22"})
    return tmp_path


def cache(*words: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["cache", *words])


def test_what_is_there_is_counted_verified_and_dropped(folder: Path):
    counted = f"{folder}: 2, 0.0 MB\n"
    result = cache()
    assert (result.exit_code, result.output) == (0, f"objects kept in {counted}")
    result = cache("--verify")
    told = f"objects kept in {counted}damaged: none\n"
    assert (result.exit_code, result.output) == (0, told)
    assert cache("--clear").output == f"objects dropped in {counted}"
    assert cache("--verify").output.startswith(f"objects kept in {folder}: 0, 0.0 MB")


def test_what_was_not_used_for_longest_is_dropped_down_to_a_size(folder: Path):
    ObjectStore().put({"b": b"22"})
    assert cache("--prune", "2").output == f"objects kept in {folder}: 1, 0.0 MB\n"
    assert ObjectStore().get("ab") == {"b": b"22"}


def test_damaged_ones_are_counted(folder: Path):
    with sqlite3.connect(folder / "objects.sqlite") as table:
        table.execute("update object set data = x'00' where key = 'a'")
    table.close()
    assert cache().exit_code == 0
    result = cache("--verify")
    assert result.exit_code == 1
    assert "\ndamaged: 1; they are not used" in result.output
    with pytest.warns(SlowerRunWarning, match="parpass cache --verify"):
        ObjectStore().get("ab")
    assert cache("--verify").output.endswith(": 1, 0.0 MB\ndamaged: none\n")


def test_what_builds_refuse_is_refused_for_the_same_reason(folder: Path):
    folder.chmod(0o777)
    with pytest.warns(SlowerRunWarning) as caught:
        ObjectStore().put({"c": b"1"})
    _, _, reason = str(caught[0].message).partition("cached: ")
    assert f"'{folder}' can be written to by others" in reason
    for words in ([], ["--verify"]):
        result = cache(*words)
        told = f"the cache in {folder} is not used: {reason}\n"
        assert (result.exit_code, result.output) == (1, told)
    folder.chmod(0o700)
    assert cache().exit_code == 0


def test_what_is_no_store_can_be_dropped(folder: Path):
    (folder / "objects.sqlite").write_bytes(b"no table of SQLite" * 99)
    result = cache()
    assert result.exit_code == 1
    assert "(file is not a database); 'parpass cache --clear' starts" in result.output
    assert cache("--clear").exit_code == 0
    assert cache().exit_code == 0


def test_what_cannot_be_written_to_is_said_to_be_read(monkeypatch: pytest.MonkeyPatch):
    may_write_nothing(monkeypatch)
    result = cache("--verify")
    assert result.exit_code == 0
    assert ": 2, 0.0 MB; read only, so none are added\ndamaged: none" in result.output


def test_what_cannot_be_dropped_is_told(folder: Path):
    cache("--clear")
    (folder / "objects.sqlite").mkdir()
    result = cache("--clear")
    assert result.exit_code == 2
    assert f"cannot clear '{folder}'" in result.output
