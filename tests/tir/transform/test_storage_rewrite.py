"""StorageRewrite: what is not in use at one time is one memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from parpass import IRModule, te, tir
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import FlattenBuffer, Simplify, StorageRewrite
from parpass.transform import Sequential
from tests.support.loop_values import assert_same_values
from tests.support.memory_programs import memory_funcs
from tests.support.profiles import examples


def rewritten(func: tir.PrimFunc, *, flat: bool = True) -> Any:
    passes = [] if flat else [FlattenBuffer(), Simplify()]
    return Sequential([*passes, StorageRewrite()])(IRModule({"main": func}))["main"]


def allocations(func: tir.PrimFunc) -> list[tir.Allocate]:
    found: list[tir.Allocate] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Allocate):
            found.append(node)

    tir.stmt_functor.post_order_visit(func.body, visit)
    return found


def sizes(func: tir.PrimFunc) -> list[int]:
    found: list[Any] = [one.extents[0] for one in allocations(func)]
    return sorted(map(int, found))


def computed(shape: Any, count: int, value: Callable[[Any, Any], Any]) -> tir.PrimFunc:
    """Return what computes as many tensors, each of the one before and of indices."""
    given = tensor = te.placeholder(shape, "int32", "A")
    for at in range(count):
        tensor = te.compute(shape, functools.partial(_element, value, tensor), f"T{at}")
    return te.create_prim_func([given, tensor])


def _element(value: Callable[[Any, Any], Any], tensor: Any, *indices: Any) -> Any:
    return value(tensor, indices)


@pytest.mark.slow
@given(func=memory_funcs())
@examples(1.5)
def test_programs_keep_their_meaning(func: tir.PrimFunc):
    after = rewritten(func)
    assert function_faults(after) == []
    assert_same_values(func, after)


def test_what_is_read_at_the_same_place_for_the_last_time_is_computed_in_place():
    func = computed((10,), 5, lambda t, i: t[i] * 2 + i[0])
    after = rewritten(func, flat=False)
    assert sizes(after) == [10]
    assert_same_values(func, after)


def test_sizes_may_be_variables():
    m, n = tir.SizeVar("m"), tir.SizeVar("n")
    func = computed((m, n), 4, lambda t, i: t[i] + 1)
    after = rewritten(func, flat=False)
    assert len(allocations(after)) == 1
    found = np.zeros((2, 3), "int32")
    evaluate(after, [np.arange(6, dtype="int32").reshape(2, 3), found])
    assert found.tolist() == [[4, 5, 6], [7, 8, 9]]


def test_what_is_read_at_other_places_keeps_its_memory():
    func = computed((10,), 4, lambda t, i: t[i] + t[0])
    after = rewritten(func, flat=False)
    assert sizes(after) == [10, 10]
    assert_same_values(func, after)


def test_what_is_written_twice_is_not_computed_in_place():
    ib = tir.ir_builder.create()
    out = tir.decl_buffer((8,), "int32", "out")
    written = ib.buffer_ptr(out)
    x = ib.allocate("int32", 8, name="x")
    with ib.for_range(0, 8) as i:
        x[i] = i
    y = ib.allocate("int32", 8, name="y")
    with ib.for_range(0, 8) as i, ib.for_range(0, 2):
        y[i] = x[i] + 1
    with ib.for_range(0, 8) as i:
        written[i] = y[i]
    func = tir.PrimFunc((out,), ib.get())
    after = rewritten(func)
    assert sizes(after) == [8, 8]
    assert_same_values(func, after)


def two(
    first: tuple[str, int],
    second: tuple[str, int],
    scope: str = "",
) -> tir.PrimFunc:
    """Return a loop whose rounds use two memories, one after the other."""
    ib = tir.ir_builder.create()
    out = tir.decl_buffer((2,), "int32", "out")
    written, n = ib.buffer_ptr(out), tir.Var("n")
    with ib.for_range(0, n, name="i") as i:
        for at, (dtype, size) in enumerate((first, second)):
            with ib.new_scope():
                own = ib.allocate(dtype, size, name="own", scope=scope)
                own[size - 1] = i.astype(dtype)
                written[at] = own[size - 1].astype("int32")
    return tir.PrimFunc((out, n), ib.get())


@pytest.mark.parametrize(
    ("first", "second", "scope", "wanted"),
    [
        (("int32", 200), ("int32", 150), "", [200]),
        (("int32", 150), ("int32", 200), "", [200]),
        (("int32", 200), ("int16", 400), "", [200]),  # larger memory of other elements
        (("int16", 100), ("int32", 200), "", [100, 200]),  # but no smaller one
        (("int32", 2000), ("int32", 10), "", [10, 2000]),  # which would be a waste
        (("int32", 1), ("int32", 1), "", [1, 1]),  # a register each
        (("int32", 8), ("int32", 8), "local", [8, 8]),
        (("bool", 64), ("int8", 64), "", [64]),  # bools are bytes
    ],
)
def test_memory_that_is_in_use_one_after_the_other_is_shared(
    first: Any, second: Any, scope: str, wanted: list[int]
):
    func = two(first, second, scope=scope)
    after = rewritten(func)
    assert sizes(after) == wanted
    assert isinstance(after.body, tir.Allocate)
    for one in (func, after):
        found = np.zeros(2, "int32")
        evaluate(one, [found, 2])
        assert found.tolist() == [1, 1]


def test_tagged_memory_is_one_allocation_of_parts():
    ib = tir.ir_builder.create()
    out = tir.decl_buffer((1,), "int32", "out")
    parts = [
        ib.allocate(dtype, 10, name="own", scope="local.cache")
        for dtype in ("int16", "int32", "int64")
    ]
    for at, own in enumerate(parts):
        own[9] = tir.const(at + 1, own.dtype)
    ib.buffer_ptr(out)[0] = sum((own[9].astype("int32") for own in parts), tir.const(0))
    after = rewritten(tir.PrimFunc((out,), ib.get()))
    assert [one.dtype for one in allocations(after)] == ["int16"]
    assert sizes(after) == [12 + 20 + 40]
    found = np.zeros(1, "int32")
    evaluate(after, [found])
    assert found.tolist() == [6]


def test_memory_that_is_accessed_by_vectors_alone_is_of_vectors():
    ib = tir.ir_builder.create()
    out = tir.decl_buffer((16,), "int32", "out")
    own = ib.allocate("int32", 16, name="own")
    for at in range(4):
        lanes = tir.Ramp(at * 4, 1, 4)
        ib.emit(tir.Store(own.asobject(), tir.Broadcast(at, 4), lanes))
    for at in range(4):
        lanes = tir.Ramp(at * 4, 1, 4)
        loaded = tir.Load("int32x4", own.asobject(), lanes)
        ib.emit(tir.Store(out.data, loaded, lanes))
    func = tir.PrimFunc((out,), ib.get())
    after = rewritten(func)
    assert [one.dtype for one in allocations(after)] == ["int32x4"]
    assert sizes(after) == [4]
    assert_same_values(func, after)
    assert rewritten(after).body.dtype == "int32x4"


def test_elements_accessed_by_indices_keep_their_memory():
    func = computed((4,), 3, lambda t, i: t[i] + 1)
    assert rewritten(func) is func
