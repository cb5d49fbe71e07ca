from __future__ import annotations

from typing import Any

from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import EncodedFunction, FunctionBatch
from parpass.runner.ipc.messages import (
    Cutoff,
    Effects,
    FunctionOutcome,
    Job,
    ReadKind,
    StageSpec,
    decode_message,
    decode_outcome,
    encode_message,
    encode_outcome,
)
from parpass.transform import PassContext
from parpass.transform.budget import UNLIMITED, UNSET, Budget
from tests.support.toy.ir import ToyAdapter
from tests.support.toy.passes import Add


def test_messages_carry_lambdas_and_closures():
    amount = 3
    assert decode_message(encode_message(lambda x: x + amount))(4) == 7  # pyright: ignore[reportUnknownLambdaType] -- a lambda on purpose


def test_a_spec_keeps_limits_whether_there_are_any_or_not():
    for budgets, limits in [
        ((UNLIMITED,), UNSET),
        ((Budget({"function_timeout": 1}),), {"function_timeout": 1}),
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


def test_functions_that_are_sent_in_a_job_share_their_batch():
    batch = FunctionBatch(b"fg", [1, 2])
    attached = {0: EncodedFunction(batch, 0), 1: EncodedFunction(batch, 1)}
    job = Job("", 1, [1], Cutoff(0, 1), {("f", 0): "why"}, attached, b"spec")
    again: Job = decode_message(encode_message(job))
    assert (again.spec, again.functions, again.cutoff) == (b"spec", [1], Cutoff(0, 1))
    assert again.quarantined == job.quarantined
    assert [one.at for one in again.attached.values()] == [0, 1]
    assert len({id(one.batch) for one in again.attached.values()}) == 1


def test_an_outcome_comes_out_of_a_message_as_it_was_but_for_its_function():
    result = EncodedFunction(FunctionBatch(b"f", [1]), None)
    message = encode_message(encode_outcome(_outcome(), result))
    received = decode_message(message)
    assert received.function.batch.payload == b"f"
    again, before = decode_outcome(received), _outcome()
    assert again.function is None
    assert str(again.failure) == str(before.failure)
    again.failure = before.failure = None
    again.dependencies, before.function = set(again.dependencies), None
    assert again == before


def _outcome() -> FunctionOutcome:
    """Return an outcome no part of which has its default."""
    effects, failure = {0: Effects(counters={"met": 1})}, ValueError("met 2")
    reads = ((ReadKind.NAMES, ""),)
    made = FunctionOutcome("f", (0.5,), effects, failure, {1, 2}, True, reads)
    bare = FunctionOutcome(None)
    fields = made.__struct_fields__
    assert not [one for one in fields if getattr(made, one) == getattr(bare, one)]
    return made
