"""A job of an executor's, from when it is submitted until it is answered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from parpass.adapters.dask.job_places import Place
from parpass.adapters.dask.jobs_away import Lost, WasAt
from parpass.adapters.dask.run_here import MirroredNote, RunHere
from parpass.runner.travel.folder import StorageError
from parpass.runner.travel.notes import Phase

Run = Callable[[bytes], bytes]


class Posted:
    """A job on its way.

    Attributes:
        number: Its number.
        run: What is to be called.
        message: What it is given.
        answer: What came of it.
        of: The run that it is part of.
        functions: Its functions, by index.
        note: What its process is at.
        told: What that was said to be last; None if nothing was said.
        place: The worker that has it.
        away: Dask's future.
        tries: How often it was sent.
        sent: When, if it is to be measured how long the way takes; else 0.
    """

    def __init__(self, number: int, run: Run, message: bytes) -> None:
        self.number, self.run, self.message = number, run, message
        self.answer: Future[bytes] = Future()
        self.of: RunHere | None = None
        self.functions: Sequence[int] = ()
        self.note: MirroredNote | None = None
        self.told: WasAt | None = None
        self.place: Place | None = None
        self.away: Any = None
        self.tries = 0
        self.sent = 0.0

    def show(self, at: WasAt | None) -> None:
        """Have a note say what its process is at."""
        if self.of is None:
            return
        with contextlib.suppress(StorageError):  # the run was cut short, and is over
            if self.note is None:
                self.note = self.of.note()
            if at is not None:
                self.note.show(at)

    def give_back_note(self, *, reuse: bool) -> None:
        """Let go of the note; see `RunHere.give_back`."""
        note, self.note = self.note, None
        if note is not None and self.of is not None:
            self.of.give_back(note, reuse=reuse)

    def lost_with_worker(self, *, may_have_begun: bool = True) -> Lost:
        """Return what it is to be lost with a worker of Dask's: at what, nobody knows.

        It was at what was told last, or has come further since. If it had a single
        function, and was not behind another job, there is no other one to suspect.
        """
        was_at = None
        is_known = self.told is not None and self.told.values[-1] != Phase.START
        if len(self.functions) == 1 and may_have_begun and not is_known:
            [at] = self.functions
            was_at = WasAt((at, 0, at, 0, Phase.PASS), 0)
        return Lost("SIGKILL(-9)", was_at, "", host_died=True)
