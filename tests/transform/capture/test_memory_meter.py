"""What a pass takes is the peak of its calls, and nothing is left of measuring."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from parpass.transform import Pass, PassContext, Sequential
from parpass.transform.budget import uncounted
from parpass.transform.capture.memory_meter import measuring_memory
from parpass.transform.capture.pass_memory import PassMemory
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import FailOn
from tests.support.toy.taking import MEGABYTE, SLACK, Take, TakeTwice


def measured(pass_: Pass, *numbers: int) -> PassMemory:
    """Return what a pass takes on functions of one number each."""
    with PassContext() as context, measuring_memory(context) as memory:
        assert tracemalloc.is_tracing()
        pass_(program(*numbers))
    return memory


def megabytes(size: int) -> int:
    """Return a size in megabytes; other threads may take, or free, some meanwhile."""
    whole = round(size / MEGABYTE)
    assert abs(size - whole * MEGABYTE) < SLACK
    return whole


def test_a_pass_takes_its_largest_peak_on_each_function_and_on_any():
    memory = measured(Sequential([Take(), Take()]), 3, 1)
    assert memory.passes.keys() == memory.functions.keys() == {"Take"}
    sizes = {name: megabytes(size) for name, size in memory.functions["Take"].items()}
    assert sizes == {"f0": 3, "f1": 1}
    assert megabytes(memory.passes["Take"]) == 3


def test_passes_that_a_module_pass_runs_are_part_of_it():
    memory = measured(TakeTwice(), 3, 1)
    assert {name: megabytes(size) for name, size in memory.passes.items()} == {
        "TakeTwice": 2 + 3
    }
    assert not memory.functions


def test_work_that_is_not_the_bodys_own_does_not_count_nor_what_it_keeps():
    kept: list[bytes] = []

    class Pausing(Take):
        def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
            with uncounted():
                kept.append(bytes(4 * MEGABYTE))
                del kept[:]
                kept.append(bytes(2 * MEGABYTE))
            return super().transform_function(func, mod, ctx)

    assert megabytes(measured(Pausing(), 3).passes["Take"]) == 3


def test_what_is_measured_ends_with_the_block_however_it_ends():
    with PassContext() as context:
        with pytest.raises(ValueError, match="met 3"), measuring_memory(context) as one:
            FailOn(3)(program(1, 3))
        assert one.functions["FailOn"].keys() == {"f0", "f1"}
        assert not tracemalloc.is_tracing()
        assert context.memory == ()
        Take()(program(1))
    assert "Take" not in one.passes


def test_another_context_is_not_measured():
    with PassContext() as context, measuring_memory(context) as memory:
        with PassContext():
            Take()(program(1))
        assert memory == PassMemory()


def test_two_blocks_of_one_context_get_the_same():
    with PassContext() as context, measuring_memory(context) as outer:
        with measuring_memory(context) as inner:
            Take()(program(1))
        assert tracemalloc.is_tracing()
        Take()(program(2))
    assert megabytes(inner.passes["Take"]) == 1
    assert megabytes(outer.passes["Take"]) == 2


def test_threads_are_measured_at_once():
    def run(context: PassContext) -> None:
        with context:
            Sequential([Take()] * 20)(program(1))

    contexts = [PassContext() for _ in range(3)]
    with (
        measuring_memory(contexts[0]) as one,
        measuring_memory(contexts[1]) as other,
    ):
        threads = [threading.Thread(target=run, args=(it,)) for it in contexts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for memory in (one, other):  # what others take meanwhile may count as well
        assert MEGABYTE <= memory.functions["Take"]["f0"] < 4 * MEGABYTE


@pytest.fixture
def tracing() -> Iterator[None]:
    """Have tracemalloc run, as a program may that looks for a leak."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("tracing")
def test_who_runs_tracemalloc_besides_keeps_it_and_its_peak():
    taken = bytes(8 * MEGABYTE)
    del taken
    _, peak = tracemalloc.get_traced_memory()
    assert megabytes(measured(Take(), 3).passes["Take"]) == 3
    assert tracemalloc.is_tracing()
    raised = tracemalloc.get_traced_memory()[1] - peak  # by other threads of this one
    assert raised >= 0
    assert megabytes(raised) == 0

    measured(Take(), 12)
    assert megabytes(tracemalloc.get_traced_memory()[1] - 12 * MEGABYTE) == 0


def test_a_child_that_is_forked_meanwhile_runs_no_tracemalloc():
    with PassContext() as context, measuring_memory(context):
        child = os.fork()
        if not child:
            os._exit(tracemalloc.is_tracing())
        assert os.waitpid(child, 0)[1] == 0
        assert tracemalloc.is_tracing()
