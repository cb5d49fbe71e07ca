from __future__ import annotations

from typing import Any

from parpass.runner.ipc.batch import EncodedFunction, FunctionBatch
from parpass.runner.ipc.messages import (
    Cutoff,
    InlineStage,
    Job,
    StageSpec,
    decode_message,
    encode_message,
)
from parpass.runner.ipc.snapshot import Snapshot
from parpass.transform import PassContext
from parpass.transform.budget import UNLIMITED, UNSET, Budget, Limits
from tests.support.toy_ir import ToyAdapter
from tests.support.toy_passes import Add


def test_messages_carry_lambdas_and_closures():
    amount = 3
    assert decode_message(encode_message(lambda x: x + amount))(4) == 7  # pyright: ignore[reportUnknownLambdaType] -- a lambda on purpose


def test_a_spec_keeps_limits_whether_there_are_any_or_not():
    for budgets, limits in [
        ((UNLIMITED,), UNSET),
        ((Budget(seconds=1),), Limits(function_timeout=1)),
        (None, UNSET),
    ]:
        spec = _spec(budgets=budgets, limits=limits)
        again: StageSpec = decode_message(encode_message(spec))
        assert (again.budgets, again.limits) == (budgets, limits)
        assert again.snapshot == spec.snapshot
        assert (again.names, again.unstable) == (["f", "g"], ["g"])


def _spec(**given: Any) -> StageSpec:
    snapshot = Snapshot.take(PassContext(opt_level=1, disabled_pass=["Add"]))
    names = ["f", "g"]
    return StageSpec(
        [Add()], snapshot, ToyAdapter(), b"", names, **given, unstable=["g"]
    )


def test_an_inline_stage_may_run_some_of_its_functions():
    batch = FunctionBatch(b"fg", [1, 2])
    attached = {0: EncodedFunction(batch, 0), 1: EncodedFunction(batch, 1)}
    job = Job("", 0, [1], Cutoff(0, 1), {("f", 0): "why"}, attached)
    again: InlineStage = decode_message(encode_message(InlineStage(b"spec", job, 60.0)))
    assert (again.spec, again.start_seconds) == (b"spec", 60.0)
    assert (again.job.functions, again.job.cutoff) == ([1], Cutoff(0, 1))
    assert again.job.quarantined == job.quarantined
    assert [one.at for one in again.job.attached.values()] == [0, 1]
    assert len({id(one.batch) for one in again.job.attached.values()}) == 1
