"""The progress tracker of a run: notes how far it is, and tells the callback.

The run notes where it is in a few attributes. A thread reads them at intervals, with
what workers wrote to the status board, and has the callback called where the caller
waits: on its event loop, or else in that thread. Neither waits for the other. A run
without a callback has no tracker.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from parpass.errors import ArgumentError, ProgressWarning
from parpass.errors.warning import warn
from parpass.report.progress import (
    INTERVAL_SECONDS,
    Progress,
    ProgressCallback,
    WorkerActivity,
)
from parpass.report.progress_text import ProgressLines
from parpass.runner.ipc.function_outcome import FunctionOutcome
from parpass.runner.ipc.messages import JobResult
from parpass.runner.ipc.status_board import Phase, StatusBoard
from parpass.runner.observers import Post, RunObserver
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform.capture.recorder import inside_function_pass
from parpass.transform.passes import Pass, step_names
from parpass.transform.plan.commands import StepRecord
from parpass.transform.plan.serial import ends_stage

_SLOW_SECONDS = 3.0  # that a function takes at least to be called slow
_SLOW_FACTOR = 10  # of the median, likewise
_MAX_SAMPLES = 999  # times of functions, of which the median is taken
_NANOSECONDS = 1e9


def progress_observers(
    callback: Callable[[Progress], object] | Literal[True],
) -> Sequence[RunObserver]:
    """Return what tells a callback how far a run is: nothing inside of a pass.

    Raises:
        ArgumentError: It cannot be called.
    """
    callback = ProgressLines() if callback is True else callback
    if not callable(callback):
        raise ArgumentError(
            "expected True, or a function that takes a Progress, for progress, got "
            f"{callback!r}"
        )
    return () if inside_function_pass() else (ProgressTracker(callback),)


class _Here(NamedTuple):
    """The activity of this process: a function, or a module pass, and its start."""

    function: str | None
    outcome: FunctionOutcome | None  # that is being made; None where there is one pass
    since: int  # nanoseconds of the system's monotonic clock


class _Stage:
    """One stage: written by the run, read by the thread of the tracker.

    `outcomes` is None for a pass in this process; `number` is 0 before the first stage.
    """

    def __init__(
        self,
        number: int,
        passes: Sequence[str],
        names: Sequence[str],
        outcomes: StageOutcomes | None = None,
    ) -> None:
        self.number, self.passes, self.names = number, tuple(passes), names
        self.outcomes = outcomes
        self.began = time.monotonic_ns()
        self.own_done = 0
        self.first_done = self.done
        self.here: _Here | None = None
        self.board: StatusBoard | None = None
        self.longest: tuple[str, float] | None = None
        self._samples: list[float] = []
        self._sampled = 0
        self._seen: dict[str, tuple[int, int]] = {}  # function and time, by worker

    @property
    def done(self) -> int:
        return self.own_done if self.outcomes is None else self.outcomes.done

    def enter(
        self, function: str | None, outcome: FunctionOutcome | None = None
    ) -> None:
        self.here = _Here(function, outcome, time.monotonic_ns())

    def finish(self, function: str, seconds: float) -> None:
        if len(self._samples) < _MAX_SAMPLES:
            self._samples.append(seconds)
        else:
            self._samples[self._sampled % _MAX_SAMPLES] = seconds
        self._sampled += 1
        if self.longest is None or seconds > self.longest[1]:
            self.longest = function, seconds

    def progress(self, *, is_last: bool) -> Progress:
        now, done = time.monotonic_ns(), self.done
        seconds = (now - self.began) / _NANOSECONDS
        since_first, eta = done - self.first_done, None
        if since_first > 0:
            eta = seconds * max(0, len(self.names) - done) / since_first
        workers = () if is_last else tuple(self._activities(now))
        samples = sorted(self._samples)
        slow: tuple[WorkerActivity, ...] = ()
        if samples:
            limit = max(_SLOW_SECONDS, _SLOW_FACTOR * samples[len(samples) // 2])
            at_functions = [one for one in workers if one.function is not None]
            slow = tuple(one for one in at_functions if one.seconds > limit)
        return Progress(
            self.number,
            self.passes,
            done,
            len(self.names),
            seconds,
            eta,
            workers,
            slow,
            self.longest,
            is_last,
        )

    def _activities(self, now: int) -> list[WorkerActivity]:
        found: list[WorkerActivity] = []
        here = self.here
        if here is not None:
            step = 0 if here.outcome is None else len(here.outcome.seconds)
            found.append(
                WorkerActivity(
                    None,
                    self.passes[step] if step < len(self.passes) else None,
                    here.function,
                    (now - here.since) / _NANOSECONDS,
                )
            )
        board = self.board
        if board is None:
            return found
        with contextlib.suppress(OSError):  # the run has just removed it
            for work in sorted(board.read(), key=lambda work: work.owner):
                first = self._seen.get(work.owner)
                if first is None or first[0] != work.function:
                    first = work.function, work.since or now
                    self._seen[work.owner] = first
                is_named = work.phase != Phase.START and work.function < len(self.names)
                in_pass = work.phase == Phase.PASS and work.step < len(self.passes)
                found.append(
                    WorkerActivity(
                        work.process,
                        self.passes[work.step] if in_pass else None,
                        self.names[work.function] if is_named else None,
                        max(0, now - first[1]) / _NANOSECONDS,
                    )
                )
        return found


class ProgressTracker(RunObserver):
    """Tells a callback how far a run is, at most five times a second, and at its end.

    It is called in the contextvars context of the caller, on its event loop, or in the
    tracker's own thread where the caller blocks. A callback that raises is called no
    more, and the run goes on; its caller gets a `ProgressWarning`.
    """

    watches_functions = True

    def __init__(self, callback: ProgressCallback) -> None:
        self._callback = callback
        self._context = contextvars.copy_context()
        self._post: Post | None = None
        self._walk: tuple[Sequence[str], Sequence[str]] | None = None
        self._walk_step = 0
        self._number = 0
        self._stage = _Stage(0, (), ())
        self._is_pending = self._has_ended = False
        self._error: Exception | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def run_began(self, workers: int, post: Post | None) -> None:
        self._post = post

    def stage_began(
        self,
        steps: Sequence[Pass],
        names: Sequence[str],
        outcomes: StageOutcomes | None,
    ) -> None:
        """Note the passes; in a walk, each of them is a stage."""
        if outcomes is None:
            self._walk, self._stage = (step_names(steps), names), _Stage(0, (), ())
        else:
            self._walk = None
            self._next(step_names(steps), names, outcomes)

    def module_pass_began(self, name: str) -> None:
        self._next([name], ()).enter(None)

    def function_began(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        stage = self._stage
        if self._walk is not None and (step != self._walk_step or not stage.number):
            passes, names = self._walk
            stage, self._walk_step = self._next([passes[step]], names), step
        stage.own_done = function
        stage.enter(stage.names[function], outcome)

    def function_ended(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        stage = self._stage
        if stage.here is None:
            return
        seconds = (time.monotonic_ns() - stage.here.since) / _NANOSECONDS
        if outcome is not None:
            seconds = sum(outcome.seconds)
        stage.finish(stage.names[function], seconds)

    def board_opened(self, board: StatusBoard) -> None:
        self._stage.here, self._stage.board = None, board

    def job_returned(self, size: int, result: JobResult) -> None:
        stage = self._stage
        for function, outcome in result.outcomes.items():
            stage.finish(stage.names[function], sum(outcome.seconds))

    def stage_returned(self, starting: float) -> None:
        self._stage.board = None

    def stage_ended(
        self, records: Sequence[StepRecord], outcomes: StageOutcomes | None
    ) -> None:
        stage = self._stage
        stage.here = None
        if not (records and ends_stage(records[-1])):
            stage.own_done = len(stage.names)

    def run_ended(self, error: BaseException | None, copying: float) -> None:
        """Tell the callback for the last time; called where the caller waits."""
        self._stopped.set()
        if self._post is None and self._thread is not None:
            self._thread.join()
        self._has_ended = True
        if self._stage.number:
            self._call(self._stage.progress(is_last=True))
        if self._error is not None:
            error, self._error = self._error, None
            warn(
                f"the progress callback raised {type(error).__name__}: {error}; the "
                "run went on without calling it again",
                ProgressWarning,
            )

    def _next(
        self,
        passes: Sequence[str],
        names: Sequence[str],
        outcomes: StageOutcomes | None = None,
    ) -> _Stage:
        self._number += 1
        stage = self._stage = _Stage(self._number, passes, names, outcomes)
        if self._thread is None:  # not before, since a run may fail to begin
            thread = threading.Thread(
                target=self._tell_regularly, name="parpass-progress", daemon=True
            )
            # Where there are no more threads, the callback is called at the end alone.
            with contextlib.suppress(RuntimeError):
                thread.start()
                self._thread = thread
        return stage

    def _tell_regularly(self) -> None:
        while not self._stopped.wait(INTERVAL_SECONDS):
            stage = self._stage
            if not stage.number or self._is_pending:
                continue
            progress = stage.progress(is_last=False)
            if self._post is None:
                self._call(progress)
                continue
            self._is_pending = True
            try:
                self._post(functools.partial(self._deliver, progress))
            except RuntimeError:  # the loop of the caller is closed
                return

    def _deliver(self, progress: Progress) -> None:
        self._is_pending = False
        if not self._has_ended:
            self._call(progress)

    def _call(self, progress: Progress) -> None:
        if self._error is not None:
            return
        try:
            self._context.run(self._callback, progress)
        except Exception as error:  # noqa: BLE001 -- it is the caller's, and told there
            self._error = error
