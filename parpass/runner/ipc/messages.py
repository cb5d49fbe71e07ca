"""The wire protocol of coordinator and workers, and the outcome of a function.

Messages are pickled, since both sides are processes of the same program. Functions are
encoded by the adapter of the IR, and exceptions with their tracebacks. Passes are
pickled by cloudpickle, so lambdas, closures and classes of `__main__` can be sent.
"""

from __future__ import annotations

import enum
import pickle
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from parpass.diagnostic import Diagnostic
from parpass.errors import AdapterError
from parpass.errors.adapters import format_with_method
from parpass.remark import Remark
from parpass.runner.follow.payload import UnsendableError
from parpass.runner.follow.pickling import find_unpicklable, pickle_by_value
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import EncodedFunction
from parpass.runner.ipc.pickled_errors import decode_error, encode_error
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.budget import UNLIMITED, UNSET, Budget, Settings, any_limited
from parpass.transform.capture.change import FunctionChange
from parpass.transform.capture.emission import Emission
from parpass.transform.capture.recorder import has_error

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
    RESULT = 6  # of a pass on the function itself: its index and a digest, for a check
    IMPORT = 7  # none of the module: that of one of the program's, while passes ran


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
    """Return what was read, in an order of its own; everything if it is much."""
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
        """Return how many passes are run on a function, given by its index."""
        return self.step + (function <= self.function)


class Effects(msgspec.Struct, frozen=True):
    """The effects of a pass on one function besides its result."""

    diagnostics: Sequence[Diagnostic] = ()
    counters: Mapping[str, int] | None = None
    emissions: Sequence[Emission] = ()
    remarks: Sequence[Remark] = ()
    changes: Sequence[FunctionChange] = ()


_FunctionT = TypeVar("_FunctionT")
_FailureT = TypeVar("_FailureT")


class Outcome(msgspec.Struct, Generic[_FunctionT, _FailureT]):
    """The outcome of a stage for one function, on either side of the pipe.

    In a message the function and the failure are encoded; all else is as it is. See
    `encode_outcome` and `decode_outcome`.

    Attributes:
        function: The result; meaningless if the last step failed. In a message it is
            None if the function did not change.
        seconds: The time of each pass that was run on it.
        effects: The effects of passes, by index of the pass; most have none.
        failure: The exception that the last of the passes raised.
        dependencies: The functions, by index, whose signatures were assumed to be those
            at the start of the stage; `ANY_FUNCTION` if they are too many to list.
        signature_changed: Whether the signature of the function changed.
        reads: What passes read of the rest of the module, where that is recorded.
    """

    function: _FunctionT
    seconds: Sequence[float] = ()
    effects: Mapping[int, Effects] = {}
    failure: _FailureT | None = None
    dependencies: Collection[int] = ()
    signature_changed: bool = False
    reads: Collection[Read] = ()

    @property
    def ended_early(self) -> bool:
        """Whether the last step failed or reported an error, which ends the run."""
        return self.failure is not None or self._reported_error

    @property
    def _reported_error(self) -> bool:
        last = self.effects.get(len(self.seconds) - 1)
        return last is not None and has_error(last.diagnostics)

    def cutoff(self, function: int) -> Cutoff | None:
        """Return the cutoff that this outcome of a function sets; None if none."""
        step = len(self.seconds) - 1
        if self.failure is not None:
            return Cutoff(step, function)
        return Cutoff(step) if self._reported_error else None


FunctionOutcome: TypeAlias = Outcome[Any, BaseException]
EncodedOutcome: TypeAlias = Outcome[EncodedFunction | None, bytes]


def encode_outcome(
    outcome: FunctionOutcome, result: EncodedFunction | None
) -> EncodedOutcome:
    """Turn an outcome into that of a message, in place, with the encoded result."""
    encoded: Any = outcome  # a cast takes time
    encoded.function = result
    encoded.dependencies = tuple(outcome.dependencies)
    if outcome.failure is not None:
        encoded.failure = encode_error(outcome.failure)
    return encoded


def decode_outcome(encoded: EncodedOutcome) -> FunctionOutcome:
    """Turn the outcome of a message into one without its function, in place."""
    outcome: Any = encoded
    outcome.function = None
    if encoded.failure is not None:
        outcome.failure = decode_error(encoded.failure)
    return outcome


def unsendable_error(name: str, function: Any, error: Exception) -> UnsendableError:
    """Return the error that names the part of a function that cannot be pickled."""
    # A deep function can be sent, though not by pickle alone.
    found = find_unpicklable(function, f"function '{name}'")
    if found is None or RecursionError.__name__ in found:
        found = f"function '{name}': {format_with_method(error)}"
    return UnsendableError(found)


class StageSpec(msgspec.Struct, frozen=True):
    """The common part of the jobs of a stage, sent to each worker once.

    Attributes:
        steps: The passes.
        snapshot: The settings in force.
        adapter: The adapter of the IR.
        shell: The module without functions, encoded.
        names: The names of all functions, in module order.
        budgets: The budgets of the steps.
        limits: Limits and policy of the call, for passes that the steps run themselves.
        unstable: The functions that are not assumed to keep their signatures.
        traced: Whether results are to have a timeline of their job.
        recording: What outcomes are to have for a function cache.
    """

    steps: Sequence[Pass]
    snapshot: Snapshot
    adapter: ModuleAdapter
    shell: bytes
    names: Sequence[str]
    budgets: Sequence[Budget] | None = None
    limits: Settings = UNSET
    unstable: Collection[str] = ()
    traced: bool = False
    recording: Recording = Recording.NOTHING

    @property
    def _is_watched(self) -> bool:
        return self.traced or self.recording is not Recording.NOTHING

    def __reduce__(self) -> tuple[Any, ...]:
        # An object takes as long to pickle as ten plain values. So there are few of
        # them, and what nearly always has its default is left out.
        budgets, limits = self.budgets, self.limits
        return _spec_of, (
            self.steps,
            self.snapshot,
            self.adapter,
            self.shell,
            self.names,
            budgets if budgets is None or any_limited(budgets) else len(budgets),
            limits,
            self.unstable,
            *((self.traced, self.recording) if self._is_watched else ()),
        )


def _spec_of(
    steps: Sequence[Pass],
    snapshot: Snapshot,
    adapter: ModuleAdapter,
    shell: bytes,
    names: Sequence[str],
    budgets: Sequence[Budget] | int | None,
    limits: Settings,
    unstable: Collection[str],
    traced: bool = False,
    recording: Recording = Recording.NOTHING,
) -> StageSpec:
    return StageSpec(
        steps,
        snapshot,
        adapter,
        shell,
        names,
        (UNLIMITED,) * budgets if isinstance(budgets, int) else budgets,
        limits,
        unstable,
        traced,
        recording,
    )


class Job(msgspec.Struct, frozen=True):
    """Some functions, and the stage to run on them.

    Attributes:
        folder: The path of the shared directory.
        stage: The number of the stage in the run, which names its files there.
        functions: The functions, by index.
        cutoff: The end of the stage, as far as it is known.
        quarantined: The calls that killed a worker or hung, as far as they are known.
        attached: Functions that are sent in the job, by index; all of the module, as
            passes may read the others, if the spec is sent in it.
        spec: The spec of a stage that is so small that it has no files; else None.
    """

    folder: str
    stage: int
    functions: Sequence[int]
    cutoff: Cutoff
    quarantined: Verdicts = {}
    attached: Mapping[int, EncodedFunction] = {}
    spec: bytes | None = None


class JobTimes(msgspec.Struct, frozen=True):
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


class JobResult(msgspec.Struct, frozen=True):
    """The result of a job.

    Attributes:
        outcomes: The outcomes of its functions, by index.
        times: The times that it took.
        written: The attributes that passes changed: pass name and attribute.
        violations: Faults of adapter methods on which no result depends.
        timeline: What the worker did when; None unless the stage is traced.
        memory: The memory that passes took; None unless it is measured.
    """

    outcomes: Mapping[int, EncodedOutcome]
    times: JobTimes
    written: Sequence[tuple[str, str]]
    violations: Sequence[AdapterError] = ()
    timeline: JobTimeline | None = None
    memory: PassMemory | None = None


def encode_message(message: Any) -> bytes:
    """Return a message as bytes, by value only if its classes cannot be imported.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    try:
        return pickle.dumps(message, protocol=5)
    except Exception:  # noqa: BLE001 -- a lambda, say, or a class pickled by value
        return pickle_by_value(message)


def decode_message(encoded: bytes) -> Any:
    """Return the message that `encode_message` encoded."""
    return pickle.loads(encoded)


def spec_file_name(stage: int) -> str:
    """Return the name of the file with the spec of a stage."""
    return f"spec-{stage}"


def function_file_name(stage: int) -> str:
    """Return the name of the file with the functions of a stage."""
    return f"functions-{stage}"


def index_file_name(stage: int) -> str:
    """Return the name of the file with the function index of a stage."""
    return f"slots-{stage}"
