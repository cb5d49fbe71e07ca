from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence

import pytest

from parpass.runner.ipc.function_outcome import AbandonedError
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore, StoredModule
from parpass.transform import BlobSink, Source
from parpass.transform.checked_adapter import checked
from tests.support.toy.ir import Fn, OwnCodecAdapter, Program, ToyAdapter, program


@pytest.fixture
def store() -> Iterator[ModuleStore]:
    store = ModuleStore(checked(OwnCodecAdapter()))
    yield store
    store.close()


def encoded_only(store: ModuleStore, function: Fn) -> FunctionHandle:
    return FunctionHandle(
        encoded=store.encode(FunctionHandle(function), store.encoder())
    )


class Sizes(ToyAdapter):
    """Notes up to where it was asked for sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[int] = []

    def size(self, function: Fn, limit: int) -> int:
        self.limits.append(limit)
        return min(limit, super().size(function, limit))


@pytest.mark.parametrize("nodes", [0, 1, 9, 10, 11, 50])
def test_the_size_of_a_function_is_asked_for_once_where_that_is_enough(nodes: int):
    adapter, handle = Sizes(), FunctionHandle(Fn((1,) * nodes))
    size = ToyAdapter().size(handle.function, 100)
    assert handle.size(adapter, 10) == min(size, 10)
    assert handle.size(adapter, 10) == min(size, 10)
    assert adapter.limits == [10]
    assert handle.size(adapter, 100) == size
    assert handle.size(adapter, 5) == size
    assert adapter.limits == ([10] if size < 10 else [10, 100])


def test_an_unchanged_module_has_identical_functions(store: ModuleStore):
    mod = program(1, 2)
    module = store.wrap(mod)
    made = store.module(module)
    assert all(made[name] is mod[name] for name in mod.functions)


def test_bytes_are_decoded_when_first_read_and_only_once(store: ModuleStore):
    base = program(1)
    handle = encoded_only(store, Fn((7,)))
    module = StoredModule(base, {"f0": handle})
    assert handle.function is None
    made = store.module(module)
    assert made["f0"] == Fn((7,))
    assert store.module(module) is made


def test_a_function_is_packed_once_and_known_again_in_a_later_module(
    store: ModuleStore,
):
    first = StoredModule(program(1), {"f0": encoded_only(store, Fn((7,)))})
    made = store.module(first)
    again = store.wrap(Program({"other": made["f0"], "new": Fn((8,))}))
    assert again.handles["other"] is first.handles["f0"]
    assert again.handles["new"].encoded is None


def test_all_but_the_functions_comes_from_the_module_that_went_in(store: ModuleStore):
    base = Program({"f0": Fn((1,))}, title="t", sources={"a": "b"})
    made = store.module(StoredModule(base, {"f0": FunctionHandle(Fn((2,)))}))
    assert (made.title, made.sources) == ("t", {"a": "b"})


def test_a_module_that_is_not_stored_is_passed_through(store: ModuleStore):
    mod = program(1)
    assert store.module(mod) is mod
    assert store.module(None) is None


def test_a_run_that_packs_nothing_makes_no_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.mkdtemp", None)
    store = ModuleStore(checked(OwnCodecAdapter()))
    store.module(store.wrap(program(1)))
    store.close()


def test_closing_removes_the_folder(store: ModuleStore):
    path = store.folder.path
    assert os.path.isdir(path)
    store.close()
    assert not os.path.exists(path)


def test_after_the_end_no_folder_is_made(store: ModuleStore):
    store.close()
    with pytest.raises(AbandonedError):
        _ = store.folder
    assert not store.has_directory


def test_what_goes_on_after_the_end_is_stopped(store: ModuleStore):
    store.check_open()
    store.has_ended = True
    with pytest.raises(AbandonedError):
        store.check_open()


class Watched(ToyAdapter):
    """Takes down whether the garbage collector works while it packs and unpacks."""

    def __init__(self) -> None:
        self.works: list[bool] = []

    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        self.works.append(gc.isenabled())
        return super().encode_function(function, blob_sink)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Program
    ) -> Fn:
        self.works.append(gc.isenabled())
        return super().decode_function(encoded, sources, mod)


def test_the_collector_rests_while_a_function_is_packed_or_unpacked():
    adapter = Watched()
    store = ModuleStore(checked(adapter))
    encoder = store.encoder()
    encoded = store.encode(FunctionHandle(Fn((1,))), encoder)
    encoder.close()
    store.load(FunctionHandle(encoded=encoded), program(1))
    store.close()
    assert adapter.works == [False, False]
    assert gc.isenabled()
