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
from typing import Any, NamedTuple

from parpass.errors import ProgressWarning
from parpass.errors.warning import warn
from parpass.runner.ipc.status_board import Phase, StatusBoard
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.stage.progress import (
    PassTimes,
    Progress,
    ProgressCallback,
    WorkerActivity,
)

_INTERVAL_SECONDS = 0.2  # between two calls of the callback
_SLOW_SECONDS = 3.0  # that a function takes at least to be called slow
_SLOW_FACTOR = 10  # of the median, likewise
_MAX_SAMPLES = 999  # times of functions, of which the median is taken
_NANOSECONDS = 1e9

Post = Callable[[Callable[[], object]], object]


class _Here(NamedTuple):
    """The activity of this process: a function, or a module pass, and its start."""

    function: str | None
    outcome: PassTimes | None  # that is being made; None where there is one pass
    since: int  # nanoseconds of the system's monotonic clock


class _Stage:
    """One stage: written by the run, read by the thread of the tracker.

    Args:
        number: Its number.
        passes: The names of its passes.
        names: The names of all functions.
        outcomes: Its outcomes; None for a pass in this process.
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
        """How many functions are finished."""
        return self.own_done if self.outcomes is None else self.outcomes.done

    def enter(self, function: str | None, outcome: PassTimes | None = None) -> None:
        """Note that a function, or a module pass, begins in this process."""
        self.here = _Here(function, outcome, time.monotonic_ns())

    def finish(self, function: str, seconds: float) -> None:
        """Note that a function is finished."""
        if len(self._samples) < _MAX_SAMPLES:
            self._samples.append(seconds)
        else:
            self._samples[self._sampled % _MAX_SAMPLES] = seconds
        self._sampled += 1
        if self.longest is None or seconds > self.longest[1]:
            self.longest = function, seconds

    def progress(self, *, is_last: bool) -> Progress:
        """Return how far it is now."""
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


class ProgressTracker:
    """Tells a callback how far a run is, at most five times a second, and at its end.

    A callback that raises is called no more, and the run goes on; its caller gets a
    `ProgressWarning`.

    Args:
        callback: The callback; it is called in the contextvars context of the caller.
        post: Has a function called on the event loop of the caller; None where the
            caller blocks its thread, and the tracker's own thread calls it.
    """

    def __init__(self, callback: ProgressCallback, post: Post | None) -> None:
        self._callback, self._post = callback, post
        self._context = contextvars.copy_context()
        self._stage: _Stage | None = None
        self._number = 0
        self._is_pending = self._has_ended = False
        self._error: Exception | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def begin_stage(self, passes: Sequence[Any], outcomes: StageOutcomes) -> None:
        """Note that a stage begins whose functions get outcomes, in any order."""
        stage = self._next([one.info.name for one in passes], outcomes.names, outcomes)
        outcomes.watcher = stage

    def begin_module_pass(self, name: str) -> None:
        """Note that a module pass begins."""
        self._next([name], ()).enter(None)

    def end_stage(self, *, is_whole: bool = True) -> None:
        """Note that a stage has ended.

        Args:
            is_whole: Whether its passes have run on all functions.
        """
        stage = self._stage
        if stage is not None:
            stage.here = None
            stage.own_done = len(stage.names) if is_whole else stage.own_done

    def watch_board(self, board: StatusBoard | None) -> None:
        """Set the status board that workers write to; None when they are done."""
        if self._stage is not None:
            self._stage.here, self._stage.board = None, board

    def checkpoint(
        self,
        passes: Sequence[Any],
        names: Sequence[str],
        inner: Callable[[int, Any], object] | None,
    ) -> Callable[[int, Any], object]:
        """Return a checkpoint that notes on which function a pass in this process is.

        Args:
            passes: The passes, which run one after the other, each on all functions.
            names: The names of the functions.
            inner: The checkpoint that is called after that, and whose answer counts.
        """
        waiting = iter([one.info.name for one in passes])

        def checkpoint(at: int, function: Any) -> object:
            stage = self._stage
            if at == 0 or stage is None:
                stage = self._next([next(waiting)], names)
            elif stage.here is not None:
                spent = time.monotonic_ns() - stage.here.since
                stage.finish(names[at - 1], spent / _NANOSECONDS)
            stage.own_done = at
            stage.enter(names[at])
            return None if inner is None else inner(at, function)

        return checkpoint

    def end(self) -> None:
        """Tell the callback for the last time; called where the caller waits."""
        self._stopped.set()
        if self._post is None and self._thread is not None:
            self._thread.join()
        self._has_ended = True
        stage = self._stage
        if stage is not None:
            self._call(stage.progress(is_last=True))
        if self._error is not None:
            error, self._error = self._error, None
            warn(
                "the progress callback raised an error and was called no more; the run "
                f"went on: {type(error).__name__}: {error}",
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
            self._thread = threading.Thread(
                target=self._tell_regularly, name="parpass-progress", daemon=True
            )
            self._thread.start()
        return stage

    def _tell_regularly(self) -> None:
        while not self._stopped.wait(_INTERVAL_SECONDS):
            stage = self._stage
            if stage is None or self._is_pending:
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
