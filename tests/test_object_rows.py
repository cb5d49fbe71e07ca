"""What was not used for longest is dropped, while the store is used."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parpass import object_rows, object_store
from parpass.object_store import ObjectStore


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


class Clock:
    """A clock that a test sets, in place of the module `time` in the store."""

    def __init__(self) -> None:
        self.now = 1e9
        self.between = lambda: None
        self.monotonic = time.monotonic

    def time(self) -> float:
        """Return the time, which goes on."""
        self.now += 1
        return self.now

    def sleep(self, seconds: float) -> None:
        """Do something between two chunks of what is dropped."""
        self.between()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock of the store, which drops in small chunks."""
    clock = Clock()
    monkeypatch.setattr(object_store, "time", clock)
    monkeypatch.setattr(object_rows, "_CHUNK_OBJECTS", 3)
    return clock


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    used=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 99)), max_size=40),
    most=st.integers(0, 600),
)
def test_those_that_were_used_last_stay_as_many_as_there_is_room_for(
    tmp_path: Path, clock: Clock, used: list[tuple[int, int]], most: int
):
    store = ObjectStore(tmp_path)
    store.clear()
    sizes: dict[str, int] = {}  # used last at the end
    for number, size in used:
        key = f"{number:x}"
        if sizes.get(key) != size:
            store.put({key: bytes(size)})
        store.get([key])
        sizes.pop(key, None)
        sizes[key] = size
    store.drop_old(most)
    expected, left = dict[str, bytes](), most
    for key, size in reversed(sizes.items()):
        left -= size
        if left < 0:
            break
        expected[key] = bytes(size)
    assert store.get(sizes) == expected


def test_what_is_used_while_others_are_dropped_stays(tmp_path: Path, clock: Clock):
    store = ObjectStore(tmp_path)
    store.put({f"{at:x}": bytes(10) for at in range(16)})

    def use() -> None:
        assert ObjectStore(tmp_path).get("f") == {"f": bytes(10)}

    clock.between = use
    store.drop_old(0)
    assert {*store.get("0123456789abcdef")} == {"f"}


def test_a_file_that_is_pruned_becomes_small(tmp_path: Path):
    store, path = ObjectStore(tmp_path, most_bytes=50_000), tmp_path / "objects.sqlite"
    store.put({f"{at}": bytes(50_000) for at in range(20)})
    large = path.stat().st_size
    store.drop_old()  # as runs do, which put in others at once
    assert (path.stat().st_size, store.state().size.objects) == (large, 1)
    store.drop_old(50_000)
    assert path.stat().st_size < large / 10
    assert store.state().size.objects == 1
