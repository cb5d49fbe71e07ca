"""Layers: what is found below is kept above, and what fails costs misses alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from parpass.errors import ArgumentError, SlowerRunWarning
from parpass.object_store import ObjectStore
from parpass.runner import FunctionCache
from parpass.runner.cache.layers import CacheLayer, Layers, open_layer


class Memory:
    """A layer in memory, which notes what it is asked for."""

    def __init__(self, *, is_writable: bool = False, **objects: bytes) -> None:
        self.is_writable, self.objects = is_writable, dict(objects)
        self.asked: list[list[str]] = []

    def get(self, keys: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(keys)
        self.asked.append(wanted)
        return {key: self.objects[key] for key in wanted if key in self.objects}

    def put(self, objects: Mapping[str, bytes]) -> None:
        self.objects.update(objects)

    def renew_patience(self) -> None:
        """It waits for nothing."""


def fetched(layers: Layers, keys: str, refused: bytes = b"") -> dict[str, bytes]:
    """Return what layers give for keys of a letter, but what is refused."""
    found, missing = dict[str, bytes](), dict.fromkeys(keys)
    for some in layers.search(missing):
        taken = {key: data for key, data in some.items() if data != refused}
        found |= taken
        for key in taken:
            del missing[key]
    return found


def test_each_layer_is_asked_once_for_what_those_above_do_not_have():
    upper = Memory(is_writable=True, a=b"1")
    middle, lower = Memory(b=b"2", a=b"other"), Memory(is_writable=True, c=b"3")
    layers = Layers([upper, middle, lower])
    assert fetched(layers, "abcd") == {"a": b"1", "b": b"2", "c": b"3"}
    assert [upper.asked, middle.asked, lower.asked] == [
        [[*"abcd"]],
        [[*"bcd"]],
        [["c", "d"]],
    ]
    assert upper.objects == {"a": b"1", "b": b"2", "c": b"3"}
    assert middle.objects == {"b": b"2", "a": b"other"}  # which is only read
    assert fetched(layers, "abc") == upper.objects
    assert len(middle.asked) == 1
    layers.put({"e": b"5"})
    assert (upper.objects["e"], lower.objects["e"]) == (b"5", b"5")
    assert "e" not in middle.objects


def test_what_is_not_accepted_is_looked_for_below():
    upper, lower = Memory(is_writable=True, a=b"old"), Memory(a=b"new")
    assert fetched(Layers([upper, lower]), "a", refused=b"old") == {"a": b"new"}
    assert upper.objects == {"a": b"new"}


class Failing(Memory):
    """Fails each time."""

    def get(self, keys: Iterable[str]) -> Mapping[str, bytes]:
        super().get(keys)
        raise ConnectionError("no route")


def test_a_layer_that_fails_is_left_out_of_the_run_with_one_warning():
    failing, lower = Failing(is_writable=True), Memory(a=b"1")
    layers = Layers([failing, lower])
    told = pytest.warns(SlowerRunWarning, match="get of Failing: Conn.*: no route")
    with told as caught:
        for _ in range(2):
            assert fetched(layers, "a") == {"a": b"1"}
        layers.renew_patience()
        assert fetched(layers, "a") == {"a": b"1"}
    assert len(caught) == 1
    assert (len(failing.asked), failing.objects) == (2, {})


def test_layers_are_opened_by_what_names_them(tmp_path: Path):
    mine = Memory()
    folder = open_layer(tmp_path)
    assert isinstance(folder, ObjectStore)
    assert not folder.is_writable
    assert folder.folder == tmp_path
    assert open_layer(mine) is mine
    with pytest.raises(ArgumentError, match=r"'redis://a'.*there are http \(.*, https"):
        open_layer("redis://a")
    with pytest.raises(ArgumentError, match=r"a list of lower layers, got '/srv/a'"):
        FunctionCache(lower="/srv/a")


def test_a_table_on_disk_is_a_layer(tmp_path: Path):
    store: CacheLayer = ObjectStore(tmp_path)
    lower: CacheLayer = ObjectStore(tmp_path, only_reads=True)
    layers = Layers([store, lower])
    layers.put({"a": b"1"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fetched(layers, "ab") == {"a": b"1"}
