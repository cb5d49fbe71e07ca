"""Large values stay where they are until somebody looks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from parpass import PassContext, assert_structural_equal, open_runner, relay
from parpass.ir import function_codec
from parpass.runner.ipc.blobs import (
    DEFAULT_LARGE_BYTES,
    CoordinatorBlobStore,
    WorkerBlobStore,
)
from parpass.runner.ipc.shared_dir import Extent, SharedDirectory
from parpass.runtime.ndarray import NDArray
from tests.support.large import Doubled, weighted


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


def test_a_value_put_twice_has_one_reference(ours: CoordinatorBlobStore) -> None:
    array = _array()
    assert ours.put(array) == ours.put(array)
    assert ours.put(_array()) != ours.put(array)


def test_nothing_is_written_before_a_value_is_read(
    folder: SharedDirectory, ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    refs = [_put(ours, _array(seed)) for seed in range(4)]
    file = Path(folder.path, refs[0].file)
    assert file.stat().st_size == 0
    assert bytes(theirs.source(refs[1]).fetch()) == bytes(_array(1).raw())
    assert file.stat().st_blocks * 512 <= 2 * DEFAULT_LARGE_BYTES


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


def test_a_worker_gets_an_error_if_the_coordinator_is_gone(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    first, second = _put(ours, _array(1)), _put(ours, _array(2))
    theirs.source(first).fetch()
    ours.close()
    with pytest.raises(ConnectionError):
        theirs.source(second).fetch()


def test_closing_ends_all_threads(folder: SharedDirectory) -> None:
    ours = CoordinatorBlobStore(folder)
    ref = _put(ours, _array())
    workers = [WorkerBlobStore(folder, str(n)) for n in range(3)]
    for worker in workers:
        worker.source(ref).fetch()
    ours.close()
    names = [thread.name for thread in threading.enumerate()]
    assert "parpass-large-values" not in names
    for worker in workers:
        worker.close()


def test_values_mapped_outlive_folder_and_run(folder: SharedDirectory) -> None:
    ours, theirs = CoordinatorBlobStore(folder), WorkerBlobStore(folder, "one")
    view = ours.source(_put(theirs, _array(3))).fetch()
    theirs.close()
    ours.close()
    folder.remove()
    assert bytes(view) == bytes(_array(3).raw())


def test_the_socket_is_in_a_folder_of_this_user_alone(
    folder: SharedDirectory, ours: CoordinatorBlobStore
) -> None:
    _put(ours, _array())
    assert os.stat(folder.path).st_mode & 0o077 == 0


def test_a_constant_in_a_function_is_fetched_only_when_its_values_are_needed(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    x = relay.var("x", shape=(DEFAULT_LARGE_BYTES,), dtype="uint8")
    function = relay.Function((x,), relay.add(x, relay.const(_array().numpy())))
    refs: list[Extent] = []

    def keep(value: NDArray) -> int | None:
        refs.append(_put(ours, value))
        return len(refs) - 1

    encoded = function_codec.encode(function, keep)  # pyright: ignore[reportArgumentType]
    assert len(encoded) < DEFAULT_LARGE_BYTES
    decoded = function_codec.decode(encoded, [theirs.source(ref) for ref in refs])
    body = decoded.body
    assert isinstance(body, relay.Call)
    constant = body.args[1]
    assert isinstance(constant, relay.Constant)
    assert (constant.data.shape, constant.data.dtype) == (
        (DEFAULT_LARGE_BYTES,),
        "uint8",
    )
    assert not theirs.has_fetched
    assert_structural_equal(decoded, function)
    assert theirs.has_fetched


@pytest.mark.slow
def test_passes_that_read_and_make_large_constants_give_the_serial_result() -> None:
    mod = weighted(6)
    serial = Doubled()(Doubled()(mod))
    context = PassContext(config={"parpass.asking_workers_seconds": 0.0})
    with open_runner(workers=2) as runner:
        parallel = runner.run_sync(mod, [Doubled(), Doubled()], context=context)
    assert_structural_equal(parallel, serial)


def test_a_folder_too_deep_for_a_socket_has_values_written_at_once(
    tmp_path: Path,
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir(mode=0o700)
    folder = SharedDirectory(str(deep))
    ours, theirs = CoordinatorBlobStore(folder), WorkerBlobStore(folder, "one")
    array = _array()
    ref = _put(ours, array)
    assert bytes(theirs.source(ref).fetch()) == bytes(array.raw())
    assert ours.source(ref).original is array
    theirs.close()
    ours.close()


def test_closing_ends_although_the_folder_was_removed(
    folder: SharedDirectory,
) -> None:
    ours = CoordinatorBlobStore(folder)
    _put(ours, _array())
    folder.remove()
    closing = threading.Thread(target=ours.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()


def test_threads_of_a_pass_may_look_at_once(
    ours: CoordinatorBlobStore, theirs: WorkerBlobStore
) -> None:
    refs = [_put(ours, _array(seed)) for seed in range(64)]

    def look(ref: Extent) -> bytes:
        return bytes(theirs.source(ref).fetch())

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(look, refs))
    assert seen == [bytes(_array(seed).raw()) for seed in range(64)]
