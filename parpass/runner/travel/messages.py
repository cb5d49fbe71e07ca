"""What travels between the coordinator and the workers.

Messages are pickled: they are spoken between our own processes only. Functions are
packed by the IR's adapter; errors with their traceback; passes by cloudpickle, so that
lambdas, closures and classes of `__main__` travel too.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from parpass.runner.travel.bundles import Bundle, Packed
from parpass.runner.travel.function_outcome import End, Said, Verdicts
from parpass.runner.travel.pickling import pack_by_value, why_not_picklable
from parpass.runner.travel.shipment import UnsendableError
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.budget import UNLIMITED, UNSET, Budget, Limits, are_limited


def why_unsendable(name: str, function: Any, error: Exception) -> UnsendableError:
    """Return the error that says what in a function is in the way, by its path."""
    # A function that is deep can be sent, though not by pickle alone.
    found = why_not_picklable(function, f"function '{name}'")
    if found is None or RecursionError.__name__ in found:
        found = f"function '{name}': {type(error).__name__}: {error}"
    return UnsendableError(found)


class StageSpec(msgspec.Struct, frozen=True):
    """What the jobs of a stage have in common; travels to each worker once.

    `shell` is the module without functions, encoded; `names` are those of all
    functions, in module order; `budgets` are those of the steps, and `limits` are those
    of the call, for passes that the steps run themselves; `doubted` are the functions
    that are not taken to keep their signatures.
    """

    steps: Sequence[Pass]
    snapshot: Snapshot
    adapter: ModuleAdapter
    shell: bytes
    names: Sequence[str]
    budgets: Sequence[Budget] | None = None
    limits: Limits = UNSET
    doubted: Collection[str] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # An object takes as long to pickle as ten plain values, so these are as few as
        # can be, and what nearly always is as it is goes without saying.
        budgets, limits = self.budgets, self.limits
        return _spec_of, (
            self.steps,
            self.snapshot,
            self.adapter,
            self.shell,
            self.names,
            budgets if budgets is None or are_limited(budgets) else len(budgets),
            None if limits is UNSET else limits,
            self.doubted,
        )


def _spec_of(
    steps: Sequence[Pass],
    snapshot: Snapshot,
    adapter: ModuleAdapter,
    shell: bytes,
    names: Sequence[str],
    budgets: Sequence[Budget] | int | None,
    limits: Limits | None,
    doubted: Collection[str],
) -> StageSpec:
    return StageSpec(
        steps,
        snapshot,
        adapter,
        shell,
        names,
        (UNLIMITED,) * budgets if isinstance(budgets, int) else budgets,
        UNSET if limits is None else limits,
        doubted,
    )


class Job(msgspec.Struct, frozen=True):
    """Some functions and the stage to run on them.

    Attributes:
        folder: The run's folder.
        stage: The stage's number in the run; its spec and functions are files there.
        functions: The functions, by index.
        end: Where the stage ends, as far as is known by now.
        verdicts: What is known by now of bodies that kill workers.
        apart: Those that go with the job, by index; of an errand all, to be read.
    """

    folder: str
    stage: int
    functions: Sequence[int]
    end: End
    verdicts: Verdicts = {}
    apart: Mapping[int, Packed] = {}


class Errand(msgspec.Struct, frozen=True):
    """A stage with little in it, whole: its spec, and a job with all functions.

    `start_seconds` is how long a worker may take to load the spec.
    """

    spec: bytes
    job: Job
    start_seconds: float

    def __reduce__(self) -> tuple[Any, ...]:
        job = self.job
        apart = [(at, *packed) for at, packed in job.apart.items()]
        parts = job.functions, tuple(job.end), job.verdicts, apart
        return _errand_of, (self.spec, self.start_seconds, *parts)


def _errand_of(
    spec: bytes,
    start_seconds: float,
    functions: Sequence[int],
    end: tuple[int, int],
    verdicts: Verdicts,
    apart: Sequence[tuple[int, Bundle, int | None]],
) -> Errand:
    packed = {at: Packed(bundle, number) for at, bundle, number in apart}
    job = Job("", 0, functions, End(*end), verdicts, packed)
    return Errand(spec, job, start_seconds)


class PackedOutcome(msgspec.Struct, frozen=True):
    """What came back for one function; see `FunctionOutcome`.

    `function` is its index; `result` is None where nothing changed.
    """

    function: int
    result: Packed | None
    seconds: Sequence[float]
    said: Mapping[int, Said] = {}
    failure: bytes | None = None
    relied_on: Sequence[int] = ()
    has_new_signature: bool = False


class JobTimes(msgspec.Struct, frozen=True):
    """Seconds that a job took.

    Attributes:
        seconds: By the clock.
        processor: Of a processor; of several, if a pass has threads.
        queued: Of `seconds`, ready to run, while others had the processors.
    """

    seconds: float
    processor: float = 0.0
    queued: float = 0.0


class JobResult(msgspec.Struct, frozen=True):
    """What came back from a job.

    `written` lists what passes changed of themselves: pass name and attribute.
    """

    outcomes: Sequence[PackedOutcome]
    times: JobTimes
    written: Sequence[tuple[str, str]]


def pack_message(message: Any) -> bytes:
    """Return a message as bytes; what it knows of the user's should be importable.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    try:
        return pickle.dumps(message, protocol=5)
    except Exception:  # noqa: BLE001 -- lambdas, say, or classes that travelled by value
        return pack_by_value(message)


def unpack_message(packed: bytes) -> Any:
    """Return a message."""
    return pickle.loads(packed)


def spec_name(stage: int) -> str:
    """Return the name of the file of a stage's spec."""
    return f"spec-{stage}"


def functions_name(stage: int) -> str:
    """Return the name of the file of a stage's functions."""
    return f"functions-{stage}"


def slots_name(stage: int) -> str:
    """Return the name of the file that says where the functions of a stage are."""
    return f"slots-{stage}"
