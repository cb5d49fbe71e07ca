from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

from parpass.diagnostic import Diagnostic, SourceName, Span
from parpass.errors import AdapterError
from parpass.runner.follow.pickling import pickle_briefly
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import EncodedFunction, EncodedFunctions, FunctionBatch
from parpass.runner.ipc.function_outcome import (
    Cutoff,
    Effects,
    FunctionOutcome,
    ReadKind,
)
from parpass.runner.ipc.messages import (
    Findings,
    Job,
    JobResult,
    JobTimeline,
    JobTimes,
    StageSpec,
)
from parpass.runner.ipc.shared_dir import Extent
from parpass.transform import PassContext
from parpass.transform.budget import UNSET
from parpass.transform.capture.pass_memory import PassMemory
from parpass.transform.code_unpickler import unpickle
from tests.support.toy.ir import ToyAdapter
from tests.support.toy.passes import Add

ODD = os.fsdecode(b"not text \xff")  # a name, as that of a file may be


def test_a_spec_keeps_limits_whether_there_are_any_or_not():
    for limits in (UNSET, {"function_timeout": 1}):
        spec = _spec(limits=limits)
        again: StageSpec = unpickle(pickle_briefly(spec))
        assert again.limits == limits
        assert again.snapshot == spec.snapshot
        assert (again.names, again.unstable) == (["f", "g"], ["g"])


def _spec(**given: Any) -> StageSpec:
    snapshot = Snapshot.take(PassContext(opt_level=1, disabled_pass=["Add"]))
    names = ["f", "g"]
    return StageSpec(
        [Add()], snapshot, ToyAdapter(), b"", names, **given, unstable=["g"]
    )


def _functions() -> EncodedFunctions:
    """Return functions of two batches, and one that is encoded alone."""
    batch = FunctionBatch(b"fg", 2, [Extent("values", 1, 2)])
    alone = FunctionBatch(b"h", 1)
    return EncodedFunctions(
        {
            4: EncodedFunction(batch, 1),
            0: EncodedFunction(batch, 0),
            2: EncodedFunction(alone, None),
        }
    )


def _assert_same(made: EncodedFunctions, sent: EncodedFunctions) -> None:
    assert list(made) == list(sent)
    assert [one.at for one in made.values()] == [one.at for one in sent.values()]
    assert len({id(one.batch) for one in made.values()}) == 2
    for one, other in zip(made.values(), sent.values(), strict=True):
        assert one.batch.payload == other.batch.payload
        assert one.batch.count == other.batch.count
        assert one.size == other.size
        assert list(one.batch.blobs) == list(other.batch.blobs)
        assert all(type(extent) is Extent for extent in one.batch.blobs)


def test_functions_that_are_sent_in_a_job_share_their_batch():
    job = Job(b"/\xff", 1, [1], Cutoff(0, 1), b"why", _functions(), b"spec")
    again = Job.decoded(job.encoded())
    _assert_same(again.attached, job.attached)
    assert again.cutoff.steps_on(1) == 1  # it is a Cutoff again
    fields = [one for one in Job.__struct_fields__ if one != "attached"]
    for one in fields:
        assert getattr(again, one) == getattr(job, one)


def test_a_result_comes_out_of_a_message_as_it_was():
    times, timeline = JobTimes(1, 2, 3, 4, 5), JobTimeline(1, 2, "", 3.0, 4.0, b"calls")
    memory = PassMemory({"Add": 1}, {"Add": {ODD: 1}})
    findings = Findings(
        [("Add", ODD)], [AdapterError("Toy", "size", "a number", 1)], memory
    )
    outcomes = {2: _outcome(), 0: FunctionOutcome(None, (0.5, 0.25))}
    result = JobResult(outcomes, times, _functions(), findings, timeline)
    again, before = JobResult.decoded(result.encoded()), _outcome()
    assert (again.times, again.timeline) == (times, timeline)
    _assert_same(again.functions, result.functions)
    assert list(again.outcomes) == [2, 0]
    (fault,) = again.findings.violations
    assert str(fault) == str(findings.violations[0])
    assert again.findings.written == [("Add", ODD)]
    assert again.findings.memory == memory
    bare = again.outcomes[0]
    assert (list(bare.seconds), bare.effects, bare.reads) == ([0.5, 0.25], {}, [])
    full = again.outcomes[2]
    assert str(full.failure) == str(before.failure)
    full.failure = before.failure = None
    full.seconds, full.dependencies = tuple(full.seconds), set(full.dependencies)
    assert full == before


def test_objects_of_users_in_effects_keep_their_classes():
    span = Span(SourceName("a.relay"), 1, 1, 1, 2)
    effects = {0: Effects((Diagnostic.note(span, "met"),))}
    outcomes = {at: FunctionOutcome(None, (0.5,), effects) for at in range(2)}
    again = JobResult.decoded(JobResult(outcomes, JobTimes(0.0)).encoded())
    for outcome in again.outcomes.values():
        (said,) = outcome.effects[0].diagnostics
        assert said.span is not None
        assert type(said.span.source_name) is SourceName


@dataclass(frozen=True)
class Frozen(Exception):  # noqa: N818 -- a user's
    what: str


@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), ExceptionGroup("g", [OSError()]), Frozen("it")]
)
def test_a_failure_of_any_class_is_sent(failure: BaseException):
    outcomes = {0: FunctionOutcome(None, (0.5,), failure=failure)}
    again = JobResult.decoded(JobResult(outcomes, JobTimes(0.0)).encoded())
    assert type(again.outcomes[0].failure) is type(failure)


def test_nothing_but_its_functions_is_in_the_message_of_most_jobs():
    outcomes = {at: FunctionOutcome(None, (0.5,)) for at in range(100)}
    assert len(JobResult(outcomes, JobTimes(0.0)).encoded()) < 25 * len(outcomes)


def _outcome() -> FunctionOutcome:
    """Return an outcome no part of which has its default, but for the function."""
    effects, failure = {0: Effects(counters={"met": 1})}, ValueError("met 2")
    reads = ((ReadKind.NAMES, ""), (ReadKind.FUNCTION, ODD))
    made = FunctionOutcome(None, (0.5,), effects, failure, {1, 2}, True, reads)
    bare = FunctionOutcome(None)
    fields = made.__struct_fields__[1:]
    assert not [one for one in fields if getattr(made, one) == getattr(bare, one)]
    return made
