from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from parpass import IRModule, relay
from parpass.ir.inference_cache import cached_inference
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.ir.node import post_order
from parpass.runner.ipc.batch import (
    BatchDecodeError,
    EncodedFunction,
    EncodedFunctions,
    FunctionBatch,
    FunctionEncoder,
    decode,
)
from parpass.runner.ipc.blobs import CoordinatorBlobStore
from parpass.runner.ipc.function_outcome import Cutoff
from parpass.runner.ipc.messages import Job
from parpass.runner.ipc.shared_dir import SharedDirectory
from parpass.transform.checked_adapter import checked
from tests.support.relay.deep import DEPTH, calls, function_of
from tests.support.runner.large import weighted
from tests.support.toy.ir import Fn, OwnCodecAdapter, RunAdapter, ToyAdapter

ADAPTER = RunAdapter()


@pytest.fixture
def values() -> Iterator[CoordinatorBlobStore]:
    folder = SharedDirectory()
    values = CoordinatorBlobStore(folder)
    yield values
    values.close()
    folder.remove()


Pack = Callable[..., list[EncodedFunction]]


@pytest.fixture
def pack(values: CoordinatorBlobStore) -> Pack:
    def pack(functions: Sequence[Any], adapter: Any = ADAPTER) -> list[EncodedFunction]:
        encoder = FunctionEncoder(adapter, values.put)
        encoded = [encoder.encode(function) for function in functions]
        encoder.close()
        sent = EncodedFunctions(dict(enumerate(encoded)))
        job = Job(b"", 1, [], Cutoff(0), attached=sent)
        return list(Job.decoded(job.encoded()).attached.values())

    return pack


def numbered(count: int) -> list[Fn]:
    return [Fn((at,)) for at in range(count)]


def batches(encoded: Sequence[EncodedFunction]) -> list[FunctionBatch]:
    return list(dict.fromkeys(one.batch for one in encoded))


def test_small_functions_share_a_batch(pack: Pack):
    encoded = pack(numbered(5))
    (batch,) = batches(encoded)
    assert [one.at for one in encoded] == [0, 1, 2, 3, 4]
    assert sum(one.size for one in encoded) == pytest.approx(len(batch.payload), abs=5)


def test_each_can_be_had_first_and_again(pack: Pack, values: CoordinatorBlobStore):
    encoded = pack(numbered(5))
    for at in (3, 1, 4, 4, 0, 1, 2):
        assert decode(encoded[at], ADAPTER, values.source, None) == Fn((at,))


def test_a_full_batch_is_followed_by_another(pack: Pack):
    encoded = pack([Fn(tuple(range(100))), *numbered(2_000)])
    sizes = [len(batch.payload) for batch in batches(encoded)]
    assert len(sizes) > 1
    assert all(16_000 < size < 17_000 for size in sizes[:-1])


def test_a_large_function_has_a_batch_of_its_own(
    pack: Pack, values: CoordinatorBlobStore
):
    large = Fn(tuple(range(10_000)))
    functions = [large, *numbered(2), large, *numbered(2)]
    encoded = pack(functions)
    assert [one.batch.count for one in encoded] == [1, 2, 2, 1, 2, 2]
    assert [decode(one, ADAPTER, values.source, None) for one in encoded] == functions


def test_without_a_batch_codec_each_function_has_a_batch_of_its_own(
    pack: Pack, values: CoordinatorBlobStore
):
    adapter = checked(OwnCodecAdapter())
    encoded = pack(numbered(3), adapter)
    assert [one.at for one in encoded] == [None] * 3
    assert [decode(one, adapter, values.source, None) for one in encoded] == numbered(3)


def test_functions_of_an_adapter_without_a_codec_share_batches_and_their_classes(
    pack: Pack, values: CoordinatorBlobStore
):
    attributes = {"__module__": "__main__", "text": "x" * 100_000}
    kind = type("Main", (Fn,), attributes)
    adapter = checked(ToyAdapter())
    small, large = kind((1,)), kind(tuple(range(10_000)))
    encoded = pack([*[small] * 100, large, small], adapter)
    assert [one.batch.count for one in encoded] == [*[100] * 100, 1, 1]
    assert encoded[0].size < 2000
    for one, function in zip(encoded, [*[small] * 100, large, small], strict=True):
        assert decode(one, adapter, values.source, None) == function


def test_a_function_that_is_too_deep_for_a_run_leaves_the_others_in_theirs(
    pack: Pack, values: CoordinatorBlobStore
):
    deep, small = function_of(calls(DEPTH // 10)), function_of(calls(2))
    functions = [small, small, deep, small]
    encoded = pack(functions, IRModuleAdapter())
    assert [one.at for one in encoded] == [0, 1, None, 0]
    mod = IRModule()
    for one, function in zip(encoded, functions, strict=True):
        made = decode(one, IRModuleAdapter(), values.source, mod)
        assert len(post_order(made)) == len(post_order(function))


def test_a_function_that_cannot_be_packed_leaves_the_others_as_they_are(
    values: CoordinatorBlobStore,
):
    encoder = FunctionEncoder(ADAPTER, values.put)
    odd: Any = threading.Lock()
    first = encoder.encode(Fn((1,)))
    with pytest.raises(TypeError, match="lock"):
        encoder.encode(Fn((odd,)))
    last = encoder.encode(Fn((2,)))
    encoder.close()
    made = [decode(one, ADAPTER, values.source, None) for one in (first, last)]
    assert made == [Fn((1,)), Fn((2,))]


class Unloadable:
    """Raises where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def test_the_error_names_the_function_that_cannot_be_decoded(
    pack: Pack, values: CoordinatorBlobStore
):
    odd: Any = Unloadable()
    encoded = pack([Fn((1,)), Fn((odd,)), Fn((3,))])
    with pytest.raises(BatchDecodeError) as caught:
        decode(encoded[2], ADAPTER, values.source, None)
    assert (caught.value.at, str(caught.value.error)[:15]) == (1, "invalid literal")
    with pytest.raises(ValueError, match="no number"):
        decode(encoded[1], ADAPTER, values.source, None)
    assert decode(encoded[0], ADAPTER, values.source, None) == Fn((1,))


def constants(function: relay.Function) -> list[int]:
    nodes = post_order(function)
    return [id(node.data) for node in nodes if isinstance(node, relay.Constant)]


def test_large_values_of_a_batch_stay_out_of_band(
    pack: Pack, values: CoordinatorBlobStore
):
    mod = weighted(4)
    encoded = pack(list(mod.functions_by_name.values()), IRModuleAdapter())
    (batch,) = batches(encoded)
    assert len(batch.blobs) == 4
    assert len(batch.payload) < 4_000
    for one, function in zip(encoded, mod.functions_by_name.values(), strict=True):
        made = decode(one, IRModuleAdapter(), values.source, mod)
        assert constants(made) == constants(function)


def test_what_is_known_of_functions_is_sent_in_a_batch(
    pack: Pack, values: CoordinatorBlobStore
):
    mod = relay.transform.InferType()(weighted(2))
    encoded = pack(list(mod.functions_by_name.values()), IRModuleAdapter())
    for one, function in zip(encoded, mod.functions_by_name.values(), strict=True):
        made = decode(one, IRModuleAdapter(), values.source, mod)
        assert cached_inference(made) == cached_inference(function)


def test_what_was_packed_or_unpacked_is_freed_without_the_collector(
    pack: Pack, values: CoordinatorBlobStore
):
    gc.collect()
    gc.disable()
    try:
        x = relay.var("x", shape=(2,))
        functions = [
            relay.Function((x,), relay.abs(relay.GlobalVar("f")(x))) for _ in range(3)
        ]
        encoded = pack(functions, IRModuleAdapter())
        mod = IRModule()
        made = [decode(one, IRModuleAdapter(), values.source, mod) for one in encoded]
        alive = list(map(weakref.ref, [*functions, *made]))
        del functions, made
        assert not any(one() for one in alive)
    finally:
        gc.enable()
