"""The wire protocol of coordinator and workers.

A message is a struct, encoded as MessagePack: `Job` to a worker, `JobResult` back. In
the pipe a `Job` comes with the function to call with it, and in place of a result may
be an error (`worker.main`). Of a stage, each worker gets a `StageSpec` before its first
job, pickled with all that it needs (`follow.payload`). Bytes inside of messages are
functions, encoded by the adapter of the IR, exceptions with their tracebacks, and
pickles of what users may have a part in. Passes are pickled by cloudpickle, so lambdas,
closures and classes of `__main__` can be sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import field

from parpass.errors import AdapterError
from parpass.runner.follow.pickling import pickle_briefly
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import NO_FUNCTIONS, EncodedFunctions
from parpass.runner.ipc.function_outcome import (
    Cutoff,
    Effects,
    FunctionOutcome,
    Read,
    Recording,
)
from parpass.runner.ipc.pickled_errors import decode_error, encode_error
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.budget import UNSET, Settings
from parpass.transform.code_unpickler import unpickle

if TYPE_CHECKING:
    from parpass.transform.capture.pass_memory import PassMemory


class StageSpec(msgspec.Struct, frozen=True):
    """The common part of the jobs of a stage, sent to each worker once.

    Attributes:
        shell: The module without functions, encoded.
        names: The names of all functions, in module order.
        limits: Limits and policy of the call.
        is_restoring: Whether the first step restores the IR's invariants after a pass
            of an earlier stage.
        unstable: The functions that are not assumed to keep their signatures.
        traced: Whether results are to have a timeline of their job.
        recording: The parts of outcomes for a function cache.
    """

    steps: Sequence[Pass]
    snapshot: Snapshot
    adapter: ModuleAdapter
    shell: bytes
    names: Sequence[str]
    limits: Settings = UNSET
    is_restoring: bool = False
    unstable: Collection[str] = ()
    traced: bool = False
    recording: Recording = Recording.NOTHING


class Job(msgspec.Struct, frozen=True, array_like=True):
    """Some functions, and the stage to run on them.

    Attributes:
        folder: The path of the shared directory, as bytes, since it may not be valid
            text.
        stage: The number of the stage in the run, which names its files there.
        functions: The functions, by index.
        cutoff: The end of the stage, as far as it is known.
        quarantined: The known calls that killed a worker or hung: pickled `Verdicts`.
            Empty if there are none.
        attached: Functions that are sent in the job, by index. If the spec is sent in
            the job, these are all functions of the module, since passes may read the
            others.
        spec: The spec of a stage that is too small to have files; otherwise None.
    """

    folder: bytes
    stage: int
    functions: Sequence[int]
    cutoff: Cutoff
    quarantined: bytes = b""
    attached: EncodedFunctions = NO_FUNCTIONS
    spec: bytes | None = None

    def encoded(self) -> bytes:
        """Return the job as a message."""
        return _encode(self)

    @classmethod
    def decoded(cls, message: bytes) -> Job:
        """Return the job of a message."""
        return _decode_job(message)


class JobTimes(msgspec.Struct, frozen=True, array_like=True):
    """The times of a job, in seconds.

    Attributes:
        seconds: The elapsed time.
        processor: The processor time; it adds up over the threads of a pass.
        queued: The part of `seconds` spent ready to run, waiting for a processor.
        process: The process ID of the worker.
        copying: The part of `seconds` spent on copies of functions.
    """

    seconds: float
    processor: float = 0.0
    queued: float = 0.0
    process: int = 0
    copying: float = 0.0


class JobTimeline(NamedTuple):
    """The activities of a worker on a job, by `time.perf_counter()` of its machine.

    Attributes:
        process: Its process ID.
        thread: The thread that ran the job, if the process is not the worker's own.
        host: The name of its machine; empty for that of the coordinator.
        began: The start of the job, or of loading its stage.
        ended: The end of the job.
        calls: The activities, encoded; see `stage.call_recorder`.
    """

    process: int
    thread: int
    host: str
    began: float
    ended: float
    calls: bytes


_OutcomeParts = tuple[Mapping[int, Effects], Collection[Read], bytes | None]


class Findings:
    """The findings of a worker on a job besides outcomes; empty, mostly.

    In a message they are pickled: they hold objects of users, and names that may not be
    valid text.

    Attributes:
        written: The attributes that passes changed: pass name and attribute.
        violations: Faults of adapter methods on which no result depends.
        memory: The memory that passes took; None unless it is measured.
        parts: The effects, reads and encoded failure of outcomes, by index of the
            function; of those that have any, in a message.
    """

    __slots__ = ("memory", "parts", "violations", "written")

    def __init__(
        self,
        written: Sequence[tuple[str, str]] = (),
        violations: Sequence[AdapterError] = (),
        memory: PassMemory | None = None,
        parts: Mapping[int, _OutcomeParts] | None = None,
    ) -> None:
        self.written, self.violations, self.memory = written, violations, memory
        self.parts = parts or {}

    def pickled(self) -> bytes:
        """Return them as bytes; no bytes if there are none."""
        found = self.written, self.violations, self.memory, self.parts
        return pickle_briefly(found) if any(found) else b""

    @classmethod
    def unpickled(cls, pickled: bytes) -> Findings:
        return cls(*unpickle(pickled)) if pickled else cls()


class JobResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of a job.

    Attributes:
        outcomes: The outcomes of its functions, by index; they have no functions.
        times: The times that it took.
        functions: Those of its functions that changed, by index.
        findings: The other findings.
        timeline: The activities of the worker; None unless the stage is traced.
        versions: Functions that changes refer to which are not printed, by number.
    """

    outcomes: Mapping[int, FunctionOutcome]
    times: JobTimes
    functions: EncodedFunctions = NO_FUNCTIONS
    findings: Findings = field(default_factory=Findings)
    timeline: JobTimeline | None = None
    versions: EncodedFunctions = NO_FUNCTIONS

    def encoded(self) -> bytes:
        """Return the result as a message; outcomes lose the parts that are pickled."""
        parts: dict[int, _OutcomeParts] = {}
        for at, outcome in self.outcomes.items():
            effects, reads, failure = outcome.effects, outcome.reads, outcome.failure
            if effects or reads or failure is not None:
                encoded = None if failure is None else encode_error(failure)
                parts[at] = effects, reads, encoded
                outcome.effects, outcome.reads, outcome.failure = {}, (), None
        self.findings.parts = parts
        return _encode(self)

    @classmethod
    def decoded(cls, message: bytes) -> JobResult:
        result = _decode_result(message)
        for at, (effects, reads, failure) in result.findings.parts.items():
            outcome = result.outcomes[at]
            outcome.effects, outcome.reads = effects, reads
            outcome.failure = None if failure is None else decode_error(failure)
        return result


def _encode_object(part: Any) -> Any:
    if isinstance(part, EncodedFunctions):
        return part.packed()
    if isinstance(part, Findings):
        return part.pickled()
    raise TypeError(f"no part of messages: {type(part).__name__}")


def _decode_object(kind: type, encoded: Any) -> Any:
    if kind is EncodedFunctions:
        return EncodedFunctions.unpacked(*encoded)
    assert kind is Findings
    return Findings.unpickled(encoded)


_encode = msgspec.msgpack.Encoder(enc_hook=_encode_object).encode
_decode_job = msgspec.msgpack.Decoder(Job, dec_hook=_decode_object).decode
_decode_result = msgspec.msgpack.Decoder(JobResult, dec_hook=_decode_object).decode
