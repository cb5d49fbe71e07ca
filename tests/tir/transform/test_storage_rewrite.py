"""StorageRewrite: what is not in use at one time is one memory."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from parpass import IRModule, te, tir
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import FlattenBuffer, Simplify, StorageRewrite
from parpass.transform import Pass, Sequential
from tests.support.loop_values import assert_same_values
from tests.support.memory_programs import memory_funcs
from tests.support.profiles import examples


def rewritten(func: tir.PrimFunc, *before: Pass) -> Any:
    return Sequential([*before, StorageRewrite()])(IRModule({"main": func}))["main"]


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


@pytest.mark.slow
@given(func=memory_funcs())
@examples(1.5)
def test_programs_keep_their_meaning(func: tir.PrimFunc):
    after = rewritten(func)
    assert function_faults(after) == []
    assert_same_values(func, after)


def _more(tensor: Any, *indices: Any) -> Any:
    return tensor[indices] + 1


def test_sizes_may_be_variables():
    m, n = tir.SizeVar("m"), tir.SizeVar("n")
    given = tensor = te.placeholder((m, n), "int32", "A")
    for at in range(4):
        tensor = te.compute((m, n), functools.partial(_more, tensor), f"T{at}")
    func = te.create_prim_func([given, tensor])
    after = rewritten(func, FlattenBuffer(), Simplify())
    assert len(allocations(after)) == 1
    found = np.zeros((2, 3), "int32")
    evaluate(after, [np.arange(6, dtype="int32").reshape(2, 3), found])
    assert found.tolist() == [[4, 5, 6], [7, 8, 9]]


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
