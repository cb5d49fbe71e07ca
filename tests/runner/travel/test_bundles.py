from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from parpass import IRModule, relay
from parpass.ir.ledger import ledger_entry
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.ir.node import post_order
from parpass.runner.travel.bundles import (
    Bundle,
    Packed,
    Packer,
    UnpackingError,
    unpack,
)
from parpass.runner.travel.folder import Folder
from parpass.runner.travel.large_values import CoordinatorValues
from parpass.runner.travel.messages import pack_message, unpack_message
from tests.support.deep import DEPTH, calls, function_of
from tests.support.large import weighted
from tests.support.toy_ir import Fn, RunAdapter, ToyAdapter

ADAPTER = RunAdapter()


@pytest.fixture
def values() -> Iterator[CoordinatorValues]:
    folder = Folder()
    values = CoordinatorValues(folder)
    yield values
    values.close()
    folder.remove()


Pack = Callable[..., list[Packed]]


@pytest.fixture
def pack(values: CoordinatorValues) -> Pack:
    def pack(functions: Sequence[Any], adapter: Any = ADAPTER) -> list[Packed]:
        packer = Packer(adapter, values)
        packed = [packer.pack(function) for function in functions]
        packer.close()
        return unpack_message(pack_message(packed))  # as if it had travelled

    return pack


def numbered(count: int) -> list[Fn]:
    return [Fn((at,)) for at in range(count)]


def bundles(packed: Sequence[Packed]) -> list[Bundle]:
    return list(dict.fromkeys(one.bundle for one in packed))


def test_small_functions_make_a_bundle(pack: Pack):
    packed = pack(numbered(5))
    (bundle,) = bundles(packed)
    assert [one.at for one in packed] == [0, 1, 2, 3, 4]
    assert sum(one.size for one in packed) == pytest.approx(len(bundle.payload), abs=5)


def test_each_can_be_had_first_and_again(pack: Pack, values: CoordinatorValues):
    packed = pack(numbered(5))
    for at in (3, 1, 4, 4, 0, 1, 2):
        assert unpack(packed[at], ADAPTER, values, None) == Fn((at,))


def test_a_bundle_that_is_full_is_followed_by_another_one(pack: Pack):
    packed = pack([Fn(tuple(range(100))), *numbered(2_000)])
    sizes = [len(bundle.payload) for bundle in bundles(packed)]
    assert len(sizes) > 1
    assert all(16_000 < size < 17_000 for size in sizes[:-1])


def test_a_large_function_is_a_bundle_of_its_own(pack: Pack, values: CoordinatorValues):
    large = Fn(tuple(range(10_000)))
    functions = [large, *numbered(2), large, *numbered(2)]
    packed = pack(functions)
    assert [len(one.bundle.ends) for one in packed] == [1, 2, 2, 1, 2, 2]
    assert [unpack(one, ADAPTER, values, None) for one in packed] == functions


def test_where_the_adapter_knows_no_runs_each_is_a_bundle_of_its_own(
    pack: Pack, values: CoordinatorValues
):
    adapter = ToyAdapter()
    packed = pack(numbered(3), adapter)
    assert [one.at for one in packed] == [None] * 3
    assert [unpack(one, adapter, values, None) for one in packed] == numbered(3)


def test_a_function_that_is_too_deep_for_a_run_leaves_the_others_in_theirs(
    pack: Pack, values: CoordinatorValues
):
    deep, small = function_of(calls(DEPTH // 10)), function_of(calls(2))
    functions = [small, small, deep, small]
    packed = pack(functions, IRModuleAdapter())
    assert [one.at for one in packed] == [0, 1, None, 0]
    mod = IRModule()
    for one, function in zip(packed, functions, strict=True):
        made = unpack(one, IRModuleAdapter(), values, mod)
        assert len(post_order(made)) == len(post_order(function))


def test_a_function_that_cannot_be_packed_leaves_the_others_as_they_are(
    values: CoordinatorValues,
):
    packer = Packer(ADAPTER, values)
    odd: Any = lambda: 1  # noqa: E731 -- what cannot be pickled
    first = packer.pack(Fn((1,)))
    with pytest.raises(Exception, match="lambda"):
        packer.pack(Fn((odd,)))
    last = packer.pack(Fn((2,)))
    packer.close()
    made = [unpack(one, ADAPTER, values, None) for one in (first, last)]
    assert made == [Fn((1,)), Fn((2,))]


class Unloadable:
    """Raises where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def test_which_one_cannot_be_unpacked_is_told(pack: Pack, values: CoordinatorValues):
    odd: Any = Unloadable()
    packed = pack([Fn((1,)), Fn((odd,)), Fn((3,))])
    with pytest.raises(UnpackingError) as caught:
        unpack(packed[2], ADAPTER, values, None)
    assert (caught.value.at, str(caught.value.error)[:15]) == (1, "invalid literal")
    with pytest.raises(ValueError, match="no number"):
        unpack(packed[1], ADAPTER, values, None)
    assert unpack(packed[0], ADAPTER, values, None) == Fn((1,))


def constants(function: relay.Function) -> list[int]:
    nodes = post_order(function)
    return [id(node.data) for node in nodes if isinstance(node, relay.Constant)]


def test_large_values_of_all_of_a_bundle_stay_outside(
    pack: Pack, values: CoordinatorValues
):
    mod = weighted(4)
    packed = pack(list(mod.functions_by_name.values()), IRModuleAdapter())
    (bundle,) = bundles(packed)
    assert len(bundle.values) == 4
    assert len(bundle.payload) < 4_000
    for one, function in zip(packed, mod.functions_by_name.values(), strict=True):
        made = unpack(one, IRModuleAdapter(), values, mod)
        assert constants(made) == constants(function)


def test_what_is_known_of_functions_travels_in_a_bundle(
    pack: Pack, values: CoordinatorValues
):
    mod = relay.transform.InferType()(weighted(2))
    packed = pack(list(mod.functions_by_name.values()), IRModuleAdapter())
    for one, function in zip(packed, mod.functions_by_name.values(), strict=True):
        made = unpack(one, IRModuleAdapter(), values, mod)
        assert ledger_entry(made) == ledger_entry(function)


def test_what_was_packed_or_unpacked_is_freed_without_the_collector(
    pack: Pack, values: CoordinatorValues
):
    gc.collect()
    gc.disable()
    try:
        x = relay.var("x", shape=(2,))
        functions = [
            relay.Function((x,), relay.abs(relay.GlobalVar("f")(x))) for _ in range(3)
        ]
        packed = pack(functions, IRModuleAdapter())
        mod = IRModule()
        made = [unpack(one, IRModuleAdapter(), values, mod) for one in packed]
        alive = list(map(weakref.ref, [*functions, *made]))
        del functions, made
        assert not any(one() for one in alive)
    finally:
        gc.enable()
