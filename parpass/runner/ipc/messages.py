"""The wire protocol of coordinator and workers, and the outcome of a function.

A message is a struct, encoded as MessagePack: `Job` to a worker, `JobResult` back. In
the pipe a `Job` comes with the function to call with it, and in place of a result may
be an error (`worker.main`). Of a stage, each worker gets a `StageSpec` before its first
job, pickled with all that it needs (`follow.payload`). Bytes inside of messages are
functions, encoded by the adapter of the IR, exceptions with their tracebacks, and
pickles of what users may have a part in. Passes are pickled by cloudpickle, so lambdas,
closures and classes of `__main__` can be sent.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import field

from parpass.diagnostic import Diagnostic
from parpass.errors import AdapterError
from parpass.remark import Remark
from parpass.runner.follow.pickling import pickle_briefly
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import NO_FUNCTIONS, EncodedFunctions
from parpass.runner.ipc.pickled_errors import decode_error, encode_error
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.budget import UNSET, Settings
from parpass.transform.by_value import unpickle
from parpass.transform.capture.change import AnyChange, UnprintedChange
from parpass.transform.capture.emission import Emission
from parpass.transform.capture.recorder import Recorder, has_error

if TYPE_CHECKING:
    from parpass.transform.capture.pass_memory import PassMemory

# Of a function and a step that killed a worker or hung: the error to raise in place of
# the call, or, if the call is to be skipped, the reason.
Verdict = BaseException | str
Verdicts = Mapping[tuple[str, int], Verdict]

ANY_FUNCTION = -1  # in place of the index of a function


class ReadKind(enum.IntEnum):
    """The kinds of reads of a module, besides the function that a pass runs on.

    The versions of other functions that it was given depend on what their passes read,
    which is included.
    """

    SIGNATURE = 0  # of a function, at the start of the stage
    FUNCTION = 1  # at the start of the stage
    NAME = 2  # whether there is such a function, and what a reference to it shows
    NAMES = 3  # the names of all functions, in order
    SHELL = 4  # what a module has besides, and passes seldom read
    EVERYTHING = 5  # more than is listed
    IMPORT = 6  # none of the module: that of one of the program's, while passes ran


class Recording(enum.IntEnum):
    """The parts of outcomes that are for a function cache."""

    NOTHING = 0
    READS = 1  # of the rest of the module
    RESULTS = 2  # and a digest of what each pass made of the function


# The kind, and the name of the function.
Read = tuple[ReadKind, str]
READ_EVERYTHING: Read = ReadKind.EVERYTHING, ""
_MAX_READS = 64  # of one function that are listed


def listed_reads(reads: Collection[Read]) -> tuple[Read, ...]:
    """Return reads in a fixed order; `READ_EVERYTHING` alone if there are many."""
    if len(reads) > _MAX_READS or READ_EVERYTHING in reads:
        return (READ_EVERYTHING,)
    return tuple(sorted(reads))


class AbandonedError(BaseException):
    """The run was cancelled while this thread worked for it; no pass or hook failed."""


class Cutoff(NamedTuple):
    """The last pass and function at which a serial run of a stage ends, if known.

    Cutoffs compare in the order of a serial run. Calls after one never happen in a
    serial run. They are not started in workers either, as they might do anything, such
    as end their process or hang.

    Attributes:
        step: The index of the last pass.
        function: The index of the last function that this pass is run on.
    """

    step: int
    function: int = sys.maxsize

    def steps_on(self, function: int) -> int:
        """Return the number of passes that run on a function, given by its index."""
        return self.step + (function <= self.function)


class Effects(msgspec.Struct, frozen=True):
    """The effects of a pass on one function besides its result.

    Attributes:
        result: The digest of the result, if that is recorded.
    """

    diagnostics: Sequence[Diagnostic] = ()
    counters: Mapping[str, int] | None = None
    emissions: Sequence[Emission] = ()
    remarks: Sequence[Remark] = ()
    changes: Sequence[AnyChange] = ()
    result: str | None = None

    @classmethod
    def of(
        cls,
        recorder: Recorder,
        emissions: Sequence[Emission] = (),
        result: str | None = None,
    ) -> Effects:
        """Return what a recorder has, with what was emitted."""
        return cls(
            recorder.diagnostics,
            recorder.counted,
            emissions,
            recorder.remarks,
            recorder.changes,
            result,
        )

    def recorder(self) -> Recorder:
        """Return a recorder that has them, but for what was emitted."""
        made = Recorder(None)
        if self.diagnostics:
            made.diag_ctx.diagnostics.extend(self.diagnostics)
        if self.counters:
            made.counters.update(self.counters)
        made.remarks, made.changes = self.remarks, self.changes
        return made


NO_EFFECTS = Effects()


def with_versions(
    effects: Mapping[int, Effects], convert: Callable[[Any], Any], mod: Any
) -> Mapping[int, Effects]:
    """Return effects in which the functions of changes are converted.

    Those that are printed have none. `mod` is the module to print them with.
    """
    made = dict(effects)
    for at, one in effects.items():
        changes = [
            change._replace(
                before=convert(change.before), after=convert(change.after), mod=mod
            )
            for change in one.changes
            if isinstance(change, UnprintedChange)
        ]
        if changes:
            made[at] = msgspec.structs.replace(one, changes=changes)
    return made


if TYPE_CHECKING:
    _EffectsByStep: TypeAlias = Mapping[int, Effects]
else:  # for msgspec: outcomes in messages have none
    _EffectsByStep = Mapping[int, Any]


class FunctionOutcome(msgspec.Struct, array_like=True):
    """The outcome of a stage for one function.

    Attributes:
        function: The result; meaningless if the last step failed.
        seconds: The time of each pass that was run on it.
        effects: The effects of passes, by index of the pass; most have none.
        failure: The exception that the last of the passes raised.
        dependencies: The functions, by index, whose signatures were assumed to be those
            at the start of the stage; `ANY_FUNCTION` if they are too many to list.
        signature_changed: Whether the signature of the function changed.
        reads: The reads of the rest of the module; empty if they are not recorded.
    """

    function: Any
    seconds: Sequence[float] = ()
    effects: _EffectsByStep = {}
    failure: BaseException | None = None
    dependencies: Collection[int] = ()
    signature_changed: bool = False
    reads: Collection[Read] = ()

    @property
    def ended_early(self) -> bool:
        """Whether the last step failed, or reported an error."""
        return self.failure is not None or self._reported_error

    @property
    def _reported_error(self) -> bool:
        last = self.effects.get(len(self.seconds) - 1)
        return last is not None and has_error(last.diagnostics)

    def cutoff(self, function: int) -> Cutoff | None:
        step = len(self.seconds) - 1
        if self.failure is not None:
            return Cutoff(step, function)
        return Cutoff(step) if self._reported_error else None


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
