from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from parpass.runtime.costs import BY_BYTE
from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.pooled import PooledStage
from parpass.runtime.retained import Retainer
from parpass.runtime.schedule import FunctionsReady
from parpass.runtime.snapshot import Snapshot
from parpass.transform import Pass, PassContext
from parpass.transform.adapter import KeepOutside
from tests.support.toy_ir import Fn, Program, ToyAdapter, program
from tests.support.toy_passes import Add

BYTES = 10_000  # of a packed function


class SlowAdapter(ToyAdapter):
    """Takes longer to pack a function than is packed before others hear of it."""

    def encode_function(self, function: Fn, keep_outside: KeepOutside) -> bytes:
        until = time.perf_counter() + 0.0006
        while time.perf_counter() < until:
            pass
        return bytes(BYTES)


@pytest.fixture
def retainer() -> Iterator[Retainer]:
    retainer = Retainer(SlowAdapter())
    yield retainer
    retainer.close()


def pooled_stage(retainer: Retainer, passes: list[Pass], mod: Program) -> PooledStage:
    held = retainer.hold(mod)
    snapshot = Snapshot.take(PassContext())
    outcomes = StageOutcomes(list(held.held), len(passes))
    stage = PooledStage(
        passes, held, snapshot, retainer, outcomes, wanted=True, is_last=True
    )
    stage.publish_spec()
    return stage


def test_large_functions_are_packed_first_the_largest_before_others(
    retainer: Retainer,
):
    sizes = [1, 3_000, 1, 9_000, 1, 6_000]
    functions = {f"f{at}": Fn((0,) * size) for at, size in enumerate(sizes)}
    stage = pooled_stage(retainer, [Add(1)], Program(functions))
    order: list[int] = []
    while (ready := stage.pack_some()) is not None:
        order += ready.functions
    assert order == [3, 5, 1, 0, 2, 4]


@pytest.mark.parametrize(
    ("pace", "announced"), [(None, 1), (0.03 / 25_000, 3), (1.0, 1), (1e-9, 5)]
)
def test_where_costs_are_known_the_first_functions_are_work_for_a_while(
    retainer: Retainer, pace: float | None, announced: int
):
    passes: list[Pass] = [Add(1)]
    BY_BYTE.forget(passes)
    if pace is not None:
        BY_BYTE.learn(passes, [pace], 1)
    stage = pooled_stage(retainer, passes, program(*range(60)))
    first, second = stage.pack_some(), stage.pack_some()
    BY_BYTE.forget(passes)
    assert isinstance(first, FunctionsReady)
    assert isinstance(second, FunctionsReady)
    assert [len(first.functions), second.functions[0]] == [announced, announced]
