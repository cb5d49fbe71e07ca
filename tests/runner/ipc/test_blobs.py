"""Large values stay where they are until somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from parpass import PassContext, assert_structural_equal, open_runner, relay
from parpass.ir import wire
from parpass.runner.ipc.blobs import (
    DEFAULT_LARGE_BYTES,
    CoordinatorBlobStore,
    WorkerBlobStore,
)
from parpass.runner.ipc.shared_dir import Extent, SharedDirectory, StorageError
from parpass.runtime.ndarray import NDArray
from parpass.transform import Source
from tests.support.runner.large import Doubled, weighted


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


@pytest.fixture
def ours(folder: SharedDirectory) -> Iterator[CoordinatorBlobStore]:
    values = CoordinatorBlobStore(folder)
    yield values
    values.close()


@pytest.fixture
def theirs(
    folder: SharedDirectory, ours: CoordinatorBlobStore
) -> Iterator[WorkerBlobStore]:
    values = WorkerBlobStore(folder, "one")
    yield values
    values.close()


class Looked:
    """A source that counts who looks at its bytes."""

    original = None

    def __init__(self, source: Source) -> None:
        self.source, self.looks = source, 0

    def fetch(self) -> memoryview:
        self.looks += 1
        return self.source.fetch()


def _array(seed: int = 0, size: int = DEFAULT_LARGE_BYTES) -> NDArray:
    return NDArray(np.random.default_rng(seed).integers(0, 255, size, np.uint8))


def _put(values: CoordinatorBlobStore | WorkerBlobStore, array: NDArray) -> Extent:
    ref = values.put(array)
    assert ref is not None
    return ref


def test_a_small_value_is_not_taken(ours: CoordinatorBlobStore) -> None:
    assert ours.put(_array(size=DEFAULT_LARGE_BYTES - 1)) is None


def test_of_values_that_all_are_large_an_empty_one_is_not_taken(
    ours: CoordinatorBlobStore,
) -> None:
    ours.min_bytes = 0
    assert ours.put(_array(size=0)) is None
    assert ours.put(_array(size=1)) is not None


def test_the_coordinator_gives_back_the_very_same_object(
    ours: CoordinatorBlobStore,
) -> None:
    array = _array()
    assert ours.source(_put(ours, array)).original is array


def test_a_store_that_is_closed_writes_no_more(
    folder: SharedDirectory, ours: CoordinatorBlobStore
) -> None:
    ours.put(NDArray(np.ones(DEFAULT_LARGE_BYTES)))
    ours.close()
    with pytest.raises(StorageError, match="the run is over"):
        ours.put(NDArray(np.zeros(DEFAULT_LARGE_BYTES)))


def test_a_value_put_twice_has_one_reference(ours: CoordinatorBlobStore) -> None:
    array = _array()
    assert ours.put(array) == ours.put(array)
    assert ours.put(_array()) != ours.put(array)


def test_a_value_is_written_once_when_it_is_put(
    folder: SharedDirectory, ours: CoordinatorBlobStore
) -> None:
    array = _array()
    ref = _put(ours, array)
    _put(ours, array)
    assert Path(folder.path, ref.file).read_bytes() == bytes(array.raw())


def test_workers_read_the_bytes_in_any_order(
    folder: SharedDirectory, ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    other = WorkerBlobStore(folder, "two")
    refs = [_put(ours, _array(seed, DEFAULT_LARGE_BYTES + seed)) for seed in range(5)]
    for at in (3, 0, 4, 3):
        for worker in (theirs, other):
            want = bytes(_array(at, DEFAULT_LARGE_BYTES + at).raw())
            assert bytes(worker.source(refs[at]).fetch()) == want
    other.close()


def test_a_value_that_goes_back_untouched_keeps_its_reference(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    ref = _put(ours, _array())
    late = NDArray.from_source(theirs.source(ref), (DEFAULT_LARGE_BYTES,), "u1")
    assert theirs.put(late) == ref
    assert np.array_equal(late.numpy(), _array().numpy())
    assert theirs.put(late) == ref


def test_a_value_made_in_a_worker_reaches_the_coordinator(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    ref = _put(theirs, _array(7))
    source = ours.source(ref)
    assert source.original is None
    assert bytes(source.fetch()) == bytes(_array(7).raw())
    late = NDArray.from_source(source, (DEFAULT_LARGE_BYTES,), "u1")
    assert ours.put(late) == ref


def test_a_worker_gets_an_error_if_the_run_is_over_and_keeps_it(
    folder: SharedDirectory, ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    ref = _put(ours, _array())
    folder.remove()
    with pytest.raises(FileNotFoundError):
        theirs.source(ref).fetch()
    assert isinstance(theirs.failure, StorageError)


def test_values_mapped_outlive_folder_and_run(folder: SharedDirectory) -> None:
    ours, theirs = CoordinatorBlobStore(folder), WorkerBlobStore(folder, "one")
    view = ours.source(_put(theirs, _array(3))).fetch()
    theirs.close()
    ours.close()
    folder.remove()
    assert bytes(view) == bytes(_array(3).raw())


def test_a_constant_in_a_function_is_mapped_only_when_its_values_are_needed(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    x = relay.var("x", shape=(DEFAULT_LARGE_BYTES,), dtype="uint8")
    function = relay.Function((x,), relay.add(x, relay.const(_array().numpy())))
    refs: list[Extent] = []

    def keep(value: NDArray) -> int | None:
        refs.append(_put(ours, value))
        return len(refs) - 1

    encoded = wire.encode(function, keep)  # pyright: ignore[reportArgumentType]
    assert len(encoded) < DEFAULT_LARGE_BYTES
    sources = [Looked(theirs.source(ref)) for ref in refs]
    decoded = wire.decode(encoded, sources)
    body = decoded.body
    assert isinstance(body, relay.Call)
    constant = body.args[1]
    assert isinstance(constant, relay.Constant)
    assert (constant.data.shape, constant.data.dtype) == (
        (DEFAULT_LARGE_BYTES,),
        "uint8",
    )
    assert [one.looks for one in sources] == [0]
    assert_structural_equal(decoded, function)
    assert [one.looks for one in sources] == [1]


@pytest.mark.slow
def test_passes_that_read_and_make_large_constants_give_the_serial_result() -> None:
    mod = weighted(6)
    serial = Doubled()(Doubled()(mod))
    context = PassContext(config={"parpass.asking_workers_seconds": 0.0})
    with open_runner(workers=2) as runner:
        parallel = runner.run_sync(mod, [Doubled(), Doubled()], context=context)
    assert_structural_equal(parallel, serial)


def test_threads_of_a_pass_may_look_at_once(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    refs = [_put(ours, _array(seed)) for seed in range(64)]

    def look(ref: Extent) -> bytes:
        return bytes(theirs.source(ref).fetch())

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(look, refs))
    assert seen == [bytes(_array(seed).raw()) for seed in range(64)]
