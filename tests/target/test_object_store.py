"""Objects are kept between builds: bounded, whole, for all processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from parpass.errors import SlowerRunWarning
from parpass.target.object_store import ObjectStore, StoreSize, default_folder

ROOT = Path(__file__).parents[2]


def test_what_is_put_in_is_there_for_another_one(tmp_path: Path):
    store = ObjectStore(tmp_path / "new")
    assert store.get(["a"]) == {}
    assert not store.folder.exists()  # nothing is made by looking
    store.put({"a": b"1", "b": b"22"})
    assert ObjectStore(store.folder).get(["a", "b", "c"]) == {"a": b"1", "b": b"22"}
    assert store.size() == StoreSize(2, 3)
    assert store.folder.stat().st_mode & 0o077 == 0
    assert store.clear() == StoreSize(2, 3)
    assert store.size() == store.clear() == StoreSize(0, 0)


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path):
    store = ObjectStore(tmp_path, most_bytes=250)
    for key in "abc":
        store.put({key: bytes(80)})
    store.get(["a"])
    store.put({"d": bytes(80)})
    assert store.drop_old()
    assert {*store.get("abcd")} == {"a", "c", "d"}
    store.put({"e": bytes(300)})
    store.drop_old()
    assert store.get("abcde") == {}


def test_an_object_that_was_changed_is_not_given(tmp_path: Path):
    store = ObjectStore(tmp_path)
    store.put({"a": b"good", "b": b"good"})
    with sqlite3.connect(tmp_path / "objects.sqlite") as table:
        table.execute("update object set data = ? where key = 'a'", (b"evil",))
    table.close()
    assert store.get("ab") == {"b": b"good"}


def test_a_store_that_cannot_be_used_is_as_good_as_an_empty_one(tmp_path: Path):
    (tmp_path / "objects.sqlite").write_bytes(b"no table of SQLite" * 99)
    store = ObjectStore(tmp_path)
    for use in (lambda: store.get("a"), lambda: store.put({"a": b"1"}), store.size):
        with pytest.warns(SlowerRunWarning, match="objects are not kept"):
            assert not any(use() or ())
    with pytest.warns(SlowerRunWarning, match="objects are not kept"):
        assert not store.drop_old()
    with pytest.warns(SlowerRunWarning):
        store.clear()
    store.put({"a": b"1"})
    assert store.get("a") == {"a": b"1"}


def test_a_folder_that_cannot_be_looked_into_is_as_good_as_none(tmp_path: Path):
    store = ObjectStore(tmp_path / ("x" * 300))  # for root, too
    for use in (lambda: store.get("a"), lambda: store.put({"a": b"1"}), store.size):
        with pytest.warns(SlowerRunWarning, match="cannot be used.*name too long"):
            assert not any(use() or ())


NO_HOME = """
import os, pathlib, sys, warnings
from parpass.target.object_store import ObjectStore
def no_home():
    raise RuntimeError("Could not determine home directory.")
pathlib.Path.home = no_home  # as for a number that is no user's, without HOME
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    store = ObjectStore()
    store.put({"a": b"1"})
    assert store.get("a") == {}
print(*{str(one.message) for one in caught})
"""


def test_who_has_no_home_builds_without():
    env = {"PATH": "", "PYTHONPATH": str(ROOT)}
    said = subprocess.check_output(
        [sys.executable, "-c", NO_HOME], text=True, cwd=ROOT, env=env, timeout=60
    )
    assert "PARPASS_CACHE_DIR may name one" in said
    assert said.startswith("objects are not kept between builds")


def test_a_table_of_other_kinds_of_values_is_as_good_as_an_empty_one(tmp_path: Path):
    store = ObjectStore(tmp_path)
    with sqlite3.connect(tmp_path / "objects.sqlite") as table:
        table.execute("create table object (key primary key, used, digest, data)")
        table.execute("insert into object values ('a', 1, 'x', null)")
        table.execute("insert into object values ('b', 'y', 2, 'text')")
    table.close()
    assert store.get("ab") == {}
    store.put({"c": b"1"})
    assert store.get("abc") == {"c": b"1"}


WRITES = """
import sys
from pathlib import Path
from parpass.target.object_store import ObjectStore
store = ObjectStore(Path(sys.argv[1]))
for at in range(20):
    store.put({f"{sys.argv[2]}{at}": bytes(1000)})
    store.get([f"0{at}", f"1{at}"])
    print(at, flush=True)
"""


@pytest.mark.slow
def test_processes_may_use_it_at_once_and_be_killed(tmp_path: Path):
    command = [sys.executable, "-c", WRITES, str(tmp_path)]
    running = [
        subprocess.Popen([*command, str(at)], cwd=ROOT, stdout=subprocess.PIPE)
        for at in range(3)
    ]
    victim = running[2]
    assert victim.stdout is not None
    victim.stdout.readline()  # it has written one
    victim.kill()
    assert [one.wait(timeout=60) for one in running] == [0, 0, -9]
    for one in running:
        one.communicate()
    store = ObjectStore(tmp_path)
    assert len(store.get(f"{who}{at}" for who in "01" for at in range(20))) == 40
    assert "20" in store.get(["20"])


def test_the_environment_says_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("PARPASS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_folder() == tmp_path / "parpass"
