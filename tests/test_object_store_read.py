"""A layer that is the folder of another cache: read as it is, and never changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from parpass.errors import SlowerRunWarning
from parpass.object_store import ObjectStore
from tests.support.own_mounts import unsharing
from tests.support.permissions import given_to_another_user

ROOT = Path(__file__).parents[1]
OBJECTS = {"a": b"1", "b": b"22"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder of a cache that has two objects."""
    ObjectStore(tmp_path / "kept").put(OBJECTS)
    return tmp_path / "kept"


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def silent(folder: Path) -> dict[str, bytes]:
    """Return what a layer gives, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ObjectStore(folder, only_reads=True).get("abc")


def test_it_is_read_and_left_as_it_is(folder: Path):
    before = content(folder)
    assert silent(folder) == OBJECTS
    ObjectStore(folder, only_reads=True).put({"c": b"3"})
    assert content(folder) == before


def test_what_another_process_puts_in_is_seen(folder: Path):
    layer = ObjectStore(folder, only_reads=True)
    assert layer.get("abc") == OBJECTS
    ObjectStore(folder).put({"c": b"3"})
    assert layer.get("abc") == {**OBJECTS, "c": b"3"}


def test_a_table_that_is_renamed_to_it_is_read(folder: Path, tmp_path: Path):
    layer = ObjectStore(folder, only_reads=True)
    layer.get("abc")
    ObjectStore(tmp_path / "new").put({"c": b"3"})
    os.replace(tmp_path / "new/objects.sqlite", folder / "objects.sqlite")
    assert layer.get("abc") == {"c": b"3"}


def test_locks_that_do_not_work_keep_nobody_from_reading(folder: Path):
    # So SQLite reports what a file system says that has no locks.
    other = sqlite3.connect(folder / "objects.sqlite", isolation_level=None)
    with contextlib.closing(other):
        other.execute("begin exclusive")
        assert silent(folder) == OBJECTS


def test_what_a_process_left_that_was_killed_is_not_played_back(
    folder: Path, tmp_path: Path
):
    left = tmp_path / "left"
    left.mkdir()
    with contextlib.closing(sqlite3.connect(folder / "objects.sqlite")) as table:
        table.execute("pragma synchronous = off")
        table.execute("pragma cache_size = 1")
        table.execute("insert into object values ('c', 1, x'00', randomblob(50000))")
        for end in ("", "-journal"):
            shutil.copy(folder / f"objects.sqlite{end}", left)
    before = content(left)
    found = ObjectStore(left, only_reads=True).get("ab")
    assert found.items() <= OBJECTS.items()
    assert content(left) == before


def _damage(folder: Path) -> None:
    with sqlite3.connect(folder / "objects.sqlite") as table:
        table.execute("update object set data = x'00'")
    table.close()


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (shutil.rmtree, "there is no cache in it"),
    "empty": (lambda f: (f / "objects.sqlite").unlink(), "there is no cache in it"),
    "no table": (
        lambda f: (f / "objects.sqlite").write_bytes(b"no table of SQLite" * 99),
        "no results .* are taken from it: file is not a database; give another folder",
    ),
    "damaged": (_damage, "objects damaged on disk .*: 2; they are rebuilt$"),
    "of others": (lambda f: f.chmod(0o777), "written to by others .*'chmod go-w"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_folder_that_cannot_be_used_costs_misses_and_one_warning(
    folder: Path, how: str
):
    spoil, told = BAD[how]
    spoil(folder)
    before = content(folder) if folder.exists() else {}
    layer = ObjectStore(folder, only_reads=True)
    warned = pytest.warns(SlowerRunWarning, match=told)
    with warned as caught:
        assert layer.get("abc") == layer.get("ab") == {}
        layer.renew_patience()
        assert layer.get("abc") == {}
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"'{folder}', a layer of a cache: ")
    assert (content(folder) if folder.exists() else {}) == before


def test_what_another_user_may_change_is_not_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    given_to_another_user(folder / "objects.sqlite", monkeypatch)
    with pytest.warns(SlowerRunWarning, match="belongs to another user"):
        assert ObjectStore(folder, only_reads=True).get("ab") == {}


MOUNTED = """
import os, sys, warnings
from pathlib import Path
from parpass.object_store import ObjectStore
warnings.simplefilter("error")
folder = Path(sys.argv[1])
ObjectStore(folder).put({"a": b"1"})
os.system(f"mount --bind '{folder}' '{folder}'")
os.system(f"mount -o remount,bind,ro '{folder}'")
try:
    (folder / "new").touch()
except OSError:
    assert ObjectStore(folder, only_reads=True).get("ab") == {"a": b"1"}
else:
    sys.exit("it can be written to")
"""


@pytest.mark.stress
def test_a_mount_that_is_read_only_is_read():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        command = [*unsharing(), sys.executable, "-c", MOUNTED, folder]
        subprocess.run(command, check=True, cwd=ROOT, timeout=60)
