"""A table that cannot be written to is read; what was not finished in it is undone."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from parpass.errors import SlowerRunWarning
from parpass.object_store import ObjectStore, StoreSize, StoreState
from parpass.object_table import ObjectTable, Patience
from tests.support.forking import forked_in_the_midst
from tests.support.own_mounts import unsharing
from tests.support.permissions import may_do_nothing, may_write_nothing

ROOT = Path(__file__).parents[2]


def test_patience_has_an_end():
    patience = Patience(2.0)
    other = patience.halved()
    assert (patience.seconds, other.seconds) == (1.0, 1.0)
    with patience.spent() as seconds:
        assert seconds == 1.0
    assert 0 < patience.seconds < 1
    patience.seconds = 1e-9
    with patience.spent():
        pass
    assert patience.seconds == 0
    assert other.seconds == 1.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks")
@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_child_is_not_forked_in_the_midst_of_a_transaction(tmp_path: Path, mode: str):
    ObjectStore(tmp_path).put({"a": b"1"})

    def work(stay: Callable[[], None]) -> None:
        table, patience = ObjectTable(tmp_path), Patience(2.0)
        if mode == "read":
            table.read(lambda _: stay(), None, patience)
        else:
            table.write(lambda _: stay(), patience)

    def use() -> bool:
        store = ObjectStore(tmp_path)
        store.put({"b": b"2"})
        return store.get("ab") == {"a": b"1", "b": b"2"}

    assert forked_in_the_midst(work, use)
    assert use()


@pytest.mark.parametrize("name", ["a?mode=ro&b#c", "50%20", "é ü", "it's"])
def test_any_folder_can_have_one(tmp_path: Path, name: str):
    ObjectStore(tmp_path / name).put({"a": b"1"})
    assert (tmp_path / name / "objects.sqlite").exists()
    assert ObjectStore(tmp_path / name).get("a") == {"a": b"1"}


def journalled(folder: Path, other: Path) -> None:
    """Have a store be in another folder as a process left it that was killed."""
    ObjectStore(folder).put({key: bytes(5000) for key in "ab"})
    with contextlib.closing(sqlite3.connect(folder / "objects.sqlite")) as table:
        table.execute("pragma synchronous = off")
        table.execute("pragma cache_size = 1")  # so it is written what is not committed
        table.execute("update object set data = x'00'")
        table.execute("insert into object values ('c', 1, x'00', randomblob(50000))")
        for end in ("", "-journal"):
            shutil.copy(folder / f"objects.sqlite{end}", other)


def test_a_change_that_was_not_finished_is_undone(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    journalled(tmp_path / "a", tmp_path / "b")
    assert {*ObjectStore(tmp_path / "b").get("abc")} == {*"ab"}
    assert [one.name for one in (tmp_path / "b").iterdir()] == ["objects.sqlite"]


def test_what_cannot_be_written_to_is_read_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ObjectStore(tmp_path).put({"a": b"1"})
    may_write_nothing(monkeypatch)
    path, store = tmp_path / "objects.sqlite", ObjectStore(tmp_path, most_bytes=0)
    before = path.read_bytes()
    assert store.get("ab") == {"a": b"1"}
    store.put({"b": b"1"})
    assert not store.drop_old()
    store.put_missing({"b": b"1"})
    assert store.state(verify=True) == StoreState(StoreSize(1, 1), is_read_only=True)
    assert path.read_bytes() == before


def test_what_cannot_be_read_either_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ObjectStore(tmp_path).put({"a": b"1"})
    may_do_nothing(monkeypatch)
    with pytest.warns(SlowerRunWarning, match=r"Permission denied: '.*sqlite'\); give"):
        assert ObjectStore(tmp_path).get("a") == {}


def test_what_cannot_be_written_to_is_read_as_it_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    ObjectStore(tmp_path / "c").put({"a": b"1"})
    with contextlib.closing(sqlite3.connect(tmp_path / "c/objects.sqlite")) as table:
        table.execute("pragma journal_mode = wal")
    journalled(tmp_path / "a", tmp_path / "b")
    may_write_nothing(monkeypatch)
    before = {one: one.read_bytes() for one in (tmp_path / "b").iterdir()}
    with pytest.warns(SlowerRunWarning, match="damaged"):
        found = ObjectStore(tmp_path / "b").get("abc")
    assert found.items() <= {key: bytes(5000) for key in "ab"}.items()
    assert {one: one.read_bytes() for one in (tmp_path / "b").iterdir()} == before
    assert ObjectStore(tmp_path / "c").get("a") == {"a": b"1"}


SHIPPED = """
import contextlib, os, sys, warnings
from pathlib import Path
from parpass.object_store import ObjectStore, StoreSize, StoreState
warnings.simplefilter("error")
folder = Path(sys.argv[1])
ObjectStore(folder).put({"a": b"1"})
os.system(sys.argv[2])
if os.geteuid() == 0:  # and as another user, too
    ObjectStore(folder).get("a") == {"a": b"1"} or sys.exit("not for root")
    with contextlib.suppress(OSError):  # there may be no other
        os.seteuid(12345)
store = ObjectStore(folder)
before = {one.name: one.read_bytes() for one in folder.iterdir()}
assert store.get("ab") == {"a": b"1"}
assert not store.drop_old()
store.put({"b": b"1"})
store.put_missing({"b": b"1"})
assert store.state(verify=True) == StoreState(StoreSize(1, 1), is_read_only=True)
assert before == {one.name: one.read_bytes() for one in folder.iterdir()}
"""
LOCKED_UP = "chmod 0555 '{0}' && chmod 0444 '{0}/objects.sqlite'"
READ_ONLY = (
    "chmod 0755 '{0}' && chmod 0644 '{0}/objects.sqlite' && "
    "mount --bind '{0}' '{0}' && mount -o remount,bind,ro '{0}'"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(LOCKED_UP, id="modes"),
        pytest.param(READ_ONLY, id="mount", marks=pytest.mark.stress),
    ],
)
def test_a_store_that_was_shipped_is_read_by_each_user(how: str):
    unshare = unsharing() if how is READ_ONLY else []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # which all can enter
        Path(folder).chmod(0o755)
        command = [sys.executable, "-c", SHIPPED, folder, how.format(folder)]
        subprocess.run([*unshare, *command], check=True, cwd=ROOT, timeout=200)
