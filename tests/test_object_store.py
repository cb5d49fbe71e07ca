"""Objects are kept between builds: bounded, whole, for all processes."""

from __future__ import annotations

import contextlib
import os
import pickle
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from parpass import object_store
from parpass.errors import SlowerRunWarning
from parpass.object_store import (
    ObjectStore,
    StoreSize,
    StoreState,
    default_folder,
)
from tests.support.permissions import (
    given_to_another_user,
    own_private_group,
    permit_by_list,
)

ROOT = Path(__file__).parents[1]


def test_what_is_put_in_is_there_for_another_one(tmp_path: Path):
    store = ObjectStore(tmp_path / "new")
    assert store.get(["a"]) == {}
    assert not store.folder.exists()  # nothing is made by looking
    store.put({"a": b"1", "b": b"22"})
    assert ObjectStore(store.folder).get(["a", "b", "c"]) == {"a": b"1", "b": b"22"}
    assert store.state().size == StoreSize(2, 3)
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert (store.folder / "objects.sqlite").stat().st_mode & 0o777 == 0o600
    assert store.clear() == StoreSize(2, 3)
    assert store.state().size == store.clear() == StoreSize(0, 0)


DAMAGES = {
    "data": "update object set data = x'00' where key = 'a'",
    "text": "update object set data = 'evil' where key = 'a'",
    "nothing": "update object set digest = 0, data = 0 where key = 'a'",
    "rows that changed places": "update object set digest = (select digest from object "
    "where key = 'b'), data = (select data from object where key = 'b') "
    "where key = 'a'",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_object_that_was_not_put_in_under_its_key_is_not_given(
    tmp_path: Path, damage: str
):
    store = ObjectStore(tmp_path)
    store.put({"a": b"good", "b": b"also good"})
    with sqlite3.connect(tmp_path / "objects.sqlite") as table:
        table.execute(DAMAGES[damage])
    table.close()
    assert store.state(verify=True).damaged == 1
    with pytest.warns(SlowerRunWarning) as caught:
        assert store.get("ab") == {"b": b"also good"}
    assert store.get("ab") == {"b": b"also good"}
    (one,) = caught
    assert "damaged" in str(one.message)
    assert "are rebuilt" in str(one.message)
    assert store.state(verify=True) == StoreState(StoreSize(1, 9))  # it was dropped
    store.put({"a": b"again"})
    assert ObjectStore(tmp_path).get("ab") == {"a": b"again", "b": b"also good"}


def test_objects_under_digests_of_an_older_form_are_not_there(tmp_path: Path):
    tmp_path.chmod(0o700)
    with sqlite3.connect(tmp_path / "objects.sqlite") as table:
        table.execute("create table object (key text primary key, used, digest, data)")
        table.execute("insert into object values ('a', 1, x'00', x'00')")
    table.close()
    store = ObjectStore(tmp_path)
    assert (store.get("a"), store.state(verify=True)) == ({}, StoreState())
    store.put({"b": b"1"})
    assert (store.get("ab"), store.state().size) == ({"b": b"1"}, StoreSize(1, 1))


OBJECTS = {key: f"object {key}".encode() * 5 for key in ("0a" * 32, "0b" * 32)}


def built(folder: Path) -> tuple[dict[str, bytes], str]:
    """Use a store as a build does; return what was found, and the one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = ObjectStore(folder)
        found = store.get(OBJECTS)
        if found != OBJECTS:
            store.drop_old()
            store.put_missing(OBJECTS)
            store.drop_old()
    assert len(caught) <= 1
    return found, str(caught[0].message) if caught else ""


def builds_after_flips(folder: Path, *, step: int) -> int:
    """Flip a bit of a store, have builds use it, and so on; return how many lost some.

    Args:
        folder: The folder.
        step: 1 for all bits, else every so manieth of those in bytes that are used.
    """
    path, lost = folder / "objects.sqlite", 0
    ObjectStore(folder).put(OBJECTS)
    whole = path.read_bytes()
    bits = [bit for bit in range(8 * len(whole)) if step == 1 or whole[bit // 8]]
    for bit in bits[::step]:
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        found, told = built(folder)
        assert found.items() <= OBJECTS.items(), bit
        if found == OBJECTS:
            continue
        lost += 1
        if "builds are not cached" in told:  # since it seems to be none of SQLite's
            assert bit < 8 * 100
            continue
        # What is added to a page whose order is damaged may be found out by the next.
        assert OBJECTS in (built(folder)[0], built(folder)[0], built(folder)[0]), bit
    return lost


@pytest.mark.slow
def test_a_flipped_bit_costs_objects_and_never_gives_another_one(tmp_path: Path):
    assert builds_after_flips(tmp_path, step=101)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (b"key text primary key", b"key text primary\xefkey"),
        (b"digest blob not null,", b"digest blob not \xefull,"),
        (b"digest blob", b"dig\xefst blob"),
        (b"CREATE TABLE object", b"CREATE TABLE obj\xefct"),
    ],
)
def test_a_damaged_schema_costs_all_objects(tmp_path: Path, text: bytes, other: bytes):
    ObjectStore(tmp_path).put(OBJECTS)
    path = tmp_path / "objects.sqlite"
    whole = path.read_bytes()
    assert whole.count(text) == 1
    path.write_bytes(whole.replace(text, other))
    store = ObjectStore(tmp_path)
    assert "to start a new one" in store.state().problem
    with pytest.warns(SlowerRunWarning, match="damaged") as caught:
        assert store.get(OBJECTS) == {}
    store.put(OBJECTS)
    assert len(caught) == 1
    assert ObjectStore(tmp_path).get(OBJECTS) == OBJECTS


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_no_flipped_bit_gives_another_object(tmp_path: Path):
    assert builds_after_flips(tmp_path, step=1)


UNUSABLE: dict[str, Callable[[Path], object]] = {
    "no table": lambda path: path.write_bytes(b"no table of SQLite" * 99),
    "a folder": lambda path: path.mkdir(),
    "a fifo": lambda path: os.mkfifo(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a file of others": lambda path: (path.touch(), path.chmod(0o666)),
    "a journal of others": lambda path: (
        path.with_name("objects.sqlite-journal").touch(),
        path.with_name("objects.sqlite-journal").chmod(0o666),
    ),
    "a folder of others": lambda path: path.parent.chmod(0o777),
}


def is_as_empty(store: ObjectStore) -> bool:
    """Use a store in all ways; return whether nothing came of it."""
    found = store.get("a")
    can_keep = store.drop_old()
    store.put({"b": b"1"})
    store.put_missing({"b": b"1"})
    return not (found or can_keep or any(store.state().size))


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_store_that_cannot_be_used_is_as_good_as_an_empty_one(
    tmp_path: Path, what: str
):
    UNUSABLE[what](tmp_path / "objects.sqlite")
    before = sorted(one.lstat().st_mtime_ns for one in tmp_path.iterdir())
    with pytest.warns(SlowerRunWarning) as caught:
        assert is_as_empty(ObjectStore(tmp_path))
    assert sorted(one.lstat().st_mtime_ns for one in tmp_path.iterdir()) == before
    (one,) = caught
    message = str(one.message)
    assert message.startswith("builds are not cached: ")
    assert "PARPASS_CACHE_DIR" not in message  # which the program did not set
    assert message.endswith(ObjectStore(tmp_path).state().problem)
    assert str(tmp_path) in message


def test_once_it_was_cleared_it_can_be_used(tmp_path: Path):
    (tmp_path / "objects.sqlite").symlink_to("precious")
    (tmp_path / "precious").write_bytes(b"precious")
    store = ObjectStore(tmp_path)
    with pytest.warns(SlowerRunWarning, match="is a symbolic link; remove it"):
        store.put({"a": b"1"})
    store.clear()
    store.put({"a": b"1"})
    assert store.get("a") == {"a": b"1"}
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_a_folder_that_cannot_be_looked_into_is_as_good_as_none(tmp_path: Path):
    store = ObjectStore(tmp_path / ("x" * 300))  # for root, too
    with pytest.warns(SlowerRunWarning, match=r"cannot be used.*name too long"):
        assert store.get("a") == {}
    assert store.state().size == StoreSize(0, 0)


def test_where_there_are_no_permissions_each_folder_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("geteuid", "fchmod"):  # as on Windows
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(os, "supports_effective_ids", set[object]())
    tmp_path.chmod(0o777)
    ObjectStore(tmp_path / "new").put({"a": b"1"})
    (tmp_path / "new/objects.sqlite").chmod(0o666)
    assert ObjectStore(tmp_path / "new").get("a") == {"a": b"1"}


@pytest.mark.parametrize("which", ["", "objects.sqlite"])
def test_what_belongs_to_another_user_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
):
    ObjectStore(tmp_path / "theirs").put({"a": b"1"})
    given_to_another_user(tmp_path / "theirs" / which, monkeypatch)
    told = r"belongs to another user .*; give another folder"
    with pytest.warns(SlowerRunWarning, match=told):
        assert is_as_empty(ObjectStore(tmp_path / "theirs"))


def test_a_folder_that_an_access_control_list_opens_to_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own_private_group(monkeypatch)
    ObjectStore(tmp_path / "mine").put({"a": b"1"})
    permit_by_list(tmp_path / "mine", 7)
    told = r"others \(mode 0770 and an access control list\).*'chmod go-w .*mine' chang"
    with pytest.warns(SlowerRunWarning, match=told):
        assert is_as_empty(ObjectStore(tmp_path / "mine"))
    (tmp_path / "mine").chmod(0o750)  # as the warning says
    assert ObjectStore(tmp_path / "mine").get("a") == {"a": b"1"}


def test_it_is_waited_for_others_once_in_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ObjectStore(tmp_path).put({"a": b"1"})
    monkeypatch.setattr(object_store, "_WAITING_SECONDS", 0.5)
    other = sqlite3.connect(tmp_path / "objects.sqlite", isolation_level=None)
    with contextlib.closing(other):
        other.execute("begin exclusive")
        store, begin = ObjectStore(tmp_path), time.monotonic()
        with pytest.warns(SlowerRunWarning) as caught:
            assert all(is_as_empty(store) for _ in range(100))
        assert time.monotonic() - begin < 30  # 50, if each one waited
    (one,) = caught
    assert "another process has had" in str(one.message)
    assert "to start a new one" in str(one.message)
    assert ObjectStore(tmp_path).get("ab") == {"a": b"1"}


def test_what_a_build_waits_for_its_workers_wait_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ObjectStore(tmp_path).put({"a": b"1"})
    monkeypatch.setattr(object_store, "_WAITING_SECONDS", 0.5)
    store = ObjectStore(tmp_path)
    other = sqlite3.connect(tmp_path / "objects.sqlite", isolation_level=None)
    with contextlib.closing(other):
        of_workers = pickle.loads(pickle.dumps(store.for_workers()))
        other.execute("begin immediate")  # it can be read
        begin = time.monotonic()
        for at in range(100):
            of_workers.put({str(at): b"1"})  # in silence
        assert time.monotonic() - begin < 30  # 50, if each one waited
        with pytest.warns(SlowerRunWarning, match="another process has had") as caught:
            assert store.get("a") == {"a": b"1"}
        store.put_missing({"b": b"1"})
        assert len(caught) == 1


NO_HOME = """
import os, warnings
from parpass.object_store import ObjectStore
os.path.expanduser = str  # as for a number that is no user's, without HOME
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
        [sys.executable, "-c", NO_HOME], text=True, cwd=ROOT, env=env, timeout=200
    )
    assert "set PARPASS_CACHE_DIR to a folder" in said
    assert said.startswith("builds are not cached")


WRITES = """
import sys
from pathlib import Path
from parpass import object_store
from parpass.object_store import ObjectStore
object_store._WAITING_SECONDS = 60.0  # each gets its turn, also on a busy machine
for at in range(int(sys.argv[3])):
    store = ObjectStore(Path(sys.argv[1]))  # as another build does
    store.put({f"{sys.argv[2]}{at}": bytes(1000)})
    store.get([f"0{at}", f"1{at}"])
    print(at, flush=True)
"""


@pytest.mark.slow
def test_processes_may_use_it_at_once_and_be_killed(tmp_path: Path):
    command = [sys.executable, "-c", WRITES, str(tmp_path)]
    running = [
        subprocess.Popen([*command, *words], cwd=ROOT, stdout=subprocess.PIPE)
        for words in (("0", "20"), ("1", "20"), ("2", "1000000"))
    ]
    victim = running[2]
    assert victim.stdout is not None
    victim.stdout.readline()  # it has written one
    victim.kill()
    assert [one.wait(timeout=200) for one in running] == [0, 0, -9]
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
