"""Observers of a run: what it notifies them of.

The driver and the coordinator call the method of an event where it happens: a search
for its name finds the place. Metrics, traces and progress listen, and are asked
nothing.
"""

from __future__ import annotations

import enum
import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

if TYPE_CHECKING:
    from parpass.runner.ipc.function_outcome import FunctionOutcome
    from parpass.runner.ipc.messages import JobResult
    from parpass.runner.ipc.status_board import StatusBoard
    from parpass.runner.stage.outcomes import StageOutcomes
    from parpass.transform import Pass
    from parpass.transform.plan.commands import StepRecord
from parpass.transform.plan.serial import Checkpoint

# Has a function called.
Post = Callable[[Callable[[], object]], object]


class CacheFigures(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """The use that a run made of a function cache.

    Attributes:
        recalled: The functions that stages took from the cache, summed over stages.
        computed: The functions on which passes were run.
        uncached: The passes whose results are not kept, and why.
        unwritten: The results that are kept in memory alone, in a run with a store.
        why_unwritten: Why, and what to do.
    """

    recalled: int
    computed: int
    uncached: Mapping[str, str]
    unwritten: int = 0
    why_unwritten: str = ""


class Activity(enum.Enum):
    """The activities of the process of the caller that are timed."""

    MODULE_PASS = "module pass"
    INSTRUMENT = "instrument"  # a hook
    READING_INSTRUMENT = "instrument that reads the module"
    HERE = "here"  # function passes, by a `PlacementReason`
    LOOKING = "looking"  # decoding functions that are read here
    LOADING = "loading"  # what sends functions to workers, and starting them
    ENCODING = "encoding"  # of functions, beside the workers
    DECODING = "decoding"  # of functions, beside the workers


class Span(NamedTuple):
    """The time of one activity, by `time.perf_counter()`."""

    activity: Activity
    name: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class SentStage(NamedTuple):
    """A stage whose functions are sent to workers.

    Attributes:
        names: The names of all functions of the module.
        functions: How many of them are sent.
        workers: How many workers there are at most.
        was_warm: Whether there were any when the stage began.
        began: When it was sent, by `time.perf_counter()`.
    """

    steps: Sequence[Pass]
    names: Sequence[str]
    functions: int
    workers: int
    was_warm: bool
    began: float


class WorkerEnd(NamedTuple):
    """The end of a worker that died, or was killed.

    Attributes:
        what: How it ended.
        process: Its process ID.
        since: The start of its last activity, by `time.perf_counter()`; 0 if not known.
        during: That activity: pass and function.
    """

    what: str
    process: int
    since: float = 0.0
    during: str = ""


class RunObserver:
    """Notified of the events of one run; a subclass has the methods that it needs.

    The driver calls them where the events are, in its own threads, and waits: they are
    short. They do not raise, and no result depends on them.

    Attributes:
        watches_functions: Whether it is notified of each function that passes run on in
            this process.
        traces_calls: Whether workers record the calls of passes on functions.
    """

    watches_functions = False
    traces_calls = False

    def run_began(self, workers: int, post: Post | None) -> None:
        """A run begins.

        Args:
            workers: How many workers it may use.
            post: Has a function called on the event loop of the caller, from any
                thread; None where the caller has none, or blocks it.
        """

    def run_ended(self, error: BaseException | None, copying: float) -> None:
        """The run is over.

        Args:
            error: What ended it; None if it succeeded.
            copying: The seconds spent on copies of functions in this process.
        """

    def span_ended(self, span: Span) -> None:
        """This process has ended an activity."""

    def module_pass_began(self, name: str) -> None:
        """A module pass begins."""

    def stage_began(
        self,
        steps: Sequence[Pass],
        names: Sequence[str],
        outcomes: StageOutcomes | None,
    ) -> None:
        """A stage begins.

        Args:
            steps: Its passes.
            names: The names of the functions.
            outcomes: What its functions get in any order, here or there; None for a
                walk of the passes here, one after the other, each over all functions.
        """

    def stage_ended(
        self, records: Sequence[StepRecord], outcomes: StageOutcomes | None
    ) -> None:
        """A stage is over.

        Args:
            records: The records of its passes.
            outcomes: Those of its functions; None for a walk.
        """

    def function_began(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        """A function begins a pass in this process; for `watches_functions`.

        Args:
            step: The index of the pass.
            function: The index of the function.
            outcome: What is being made, if it goes on to the next passes.
        """

    def function_ended(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        """A function has ended the passes from `step` on, or that one in a walk."""

    def workers_started(self, seconds: float) -> None:
        """Workers were started in the last span of passes here.

        Args:
            seconds: The part of it in which they were started, and no pass ran.
        """

    def stage_sent(self, stage: SentStage) -> None:
        """The functions of a stage are about to be sent to workers."""

    def board_opened(self, board: StatusBoard) -> None:
        """The workers write to a status board what they run, until the stage ends."""

    def bytes_sent(self, size: int) -> None:
        """The passes of a stage, or some of its functions, were encoded and shared."""

    def job_sent(self, size: int) -> None:
        """A job was sent, of so many bytes."""

    def job_returned(self, size: int, result: JobResult) -> None:
        """The result of a job arrived, of so many bytes."""

    def function_retried(self, function: str) -> None:
        """A function is run again, as its worker died or was killed."""

    def worker_ended(self, end: WorkerEnd) -> None:
        """A worker died, or was killed."""

    def noted(self, what: str) -> None:
        """The coordinator did something that is worth a mark in a trace."""

    def stage_returned(self, starting: float) -> None:
        """The workers are done with a stage, or it failed.

        Args:
            starting: The seconds that all workers together took until each had its
                first job; 0 where they were warm.
        """

    def pass_unsendable(self, pass_name: str, reason: str) -> None:
        """A pass cannot be sent to workers."""

    def cache_used(self, figures: CacheFigures) -> None:
        """The results of a run were kept in a cache."""


class RunObservers(RunObserver):
    """The observers of a run, as one: each gets each event, in their order."""

    def __init__(self, observers: Iterable[RunObserver] = ()) -> None:
        self.all = tuple(observers)
        self.traces_calls = any(one.traces_calls for one in self.all)

    def of_functions(self) -> RunObserver | None:
        """Return those that watch functions, as one; None if there are none."""
        watching = [one for one in self.all if one.watches_functions]
        if len(watching) == 1:  # it is told of each call of a pass
            return watching[0]
        return RunObservers(watching) if watching else None


def _notify_all(event: str) -> Callable[..., None]:
    def notify(self: RunObservers, *about: Any) -> None:
        for one in self.all:
            getattr(one, event)(*about)

    return notify


for _event, _method in vars(RunObserver).items():
    if inspect.isfunction(_method):
        setattr(RunObservers, _event, _notify_all(_event))


class timing:  # noqa: N801 -- used like a function, as contextlib's own
    """Notify of the time of a block, however it ends.

    Attributes:
        name: The name of the span; may be set until the block ends.
    """

    __slots__ = ("_activity", "_began", "_observer", "name")

    def __init__(
        self, observer: RunObserver, activity: Activity, name: str = ""
    ) -> None:
        self._observer, self._activity, self.name = observer, activity, name

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        ended = time.perf_counter()
        self._observer.span_ended(Span(self._activity, self.name, self._began, ended))


class Walk:
    """A walk of passes, one after the other, over all functions in this process.

    It is the checkpoint that the passes call before each function, in place of
    `checkpoint`, which it calls.
    """

    def __init__(
        self,
        observer: RunObserver,
        steps: Sequence[Pass],
        names: Sequence[str],
        checkpoint: Checkpoint | None,
    ) -> None:
        self._observer, self._checkpoint = observer, checkpoint
        self._step, self._function, self._is_inside = 0, -1, False
        self._stop = 0  # the function before which `checkpoint` is called
        observer.stage_began(steps, names, None)

    def __call__(self, at: int, function: Any) -> int:
        """Notify of the end of one function and the start of the next."""
        self._end_function()
        if at <= self._function:
            self._step, self._stop = self._step + 1, 0
        if self._checkpoint is not None and at >= self._stop:
            self._stop = self._checkpoint(at, function)
            if self._stop == at:
                return at
        self._function, self._is_inside = at, True
        self._observer.function_began(self._step, at, None)
        return at + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_function()

    def _end_function(self) -> None:
        if self._is_inside:
            self._is_inside = False
            self._observer.function_ended(self._step, self._function, None)
