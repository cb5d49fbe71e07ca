"""The schedule of a stage: which function goes into which job, and what next.

A state machine without a clock and without I/O. Events go in, commands come out; the
coordinator carries them out. The order in which events come never shows in a result.

Jobs are sized by measured cost. The largest functions go first, a few jobs are in
flight for each worker, and jobs get smaller towards the end, so that neither thousands
of tiny functions nor a giant leave workers idle ("guided self-scheduling" is
Polychronopoulos and Kuck's name for it, 1987).

When a worker dies, the job that it ran is lost, and no other. The function that it was
working on is a suspect: it runs again alone, when nothing else does. If that kills
again, it is to blame. So is, without a second trial, a function whose worker was killed
because it was overdue. What becomes of it is settled by the coordinator: it is done
with, or it runs once more under other conditions. The others go on in either case, so
that the error which is raised at last does not depend on who was first.

To run alone has all other workers wait. So where nobody knows what a worker was killed
at, or where its whole host died, of which there may be a thousand, nobody is a suspect
at first. A function to which that happens again is a suspect if it is known to have
been worked on; else it runs in a job by itself, beside the others, which tells more.

When a function has failed in the first pass, a serial run does not come to those after
it: these are dropped, and jobs that have no others are ended, since they may hang.

If the workers are slower than the coordinator's process would be alone, what is in no
job yet can be recalled: it is run there.

A death on which nobody was working (while a stage is loaded, say) costs nothing but the
job. If workers end by themselves like that, and nothing is done in between, no worker
can work here, and the schedule gives up. If they are killed by somebody else it goes on
for long: that may stop, and each time they may come a little further.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import deque
from collections.abc import Collection, Sequence

from parpass.runner.pool.schedule_events import (
    Blame,
    Command,
    DeadlinePassed,
    Ended,
    EndJob,
    Event,
    Finish,
    FunctionsReady,
    GiveUp,
    JobFinished,
    JobLost,
    Overtaken,
    Recalled,
    Settled,
    SubmitJob,
)

TARGET_SECONDS = 0.25  # what a job should take: far above its overhead of 1 ms
_DEAR_SECONDS = 0.5  # the same, for an executor whose jobs cost many
_LEAST_SECONDS = 0.004  # even at the end, when jobs get small
_ENOUGH_SECONDS = 0.02  # of a job that waits for a worker, while more is being packed
_CAUTION = 8  # while the cost is unknown jobs are smaller by this: begin, and learn
_IN_FLIGHT = 2  # jobs for each worker, so that none waits for the coordinator
_MOST_MISHAPS = 3  # deaths in a row that no function is to blame for
_MOST_KILLS = 50  # the same, where workers were killed from outside
_SHARES = 1.25  # a job takes at most this part, for each worker, of what is left


class Schedule:
    """Plans the jobs of one stage.

    Args:
        total: How many functions there will be.
        workers: How many workers there are.
        pace: Seconds of work for each unit of weight, as far as is known before.
        least: Seconds that a job should take at least, even if workers are idle.
    """

    def __init__(
        self, total: int, workers: int, pace: float | None = None, least: float = 0.0
    ) -> None:
        self._least = least
        self._left = total
        self._unannounced = total
        self._workers = workers
        self._waiting: list[tuple[int, int]] = []  # a heap of (-weight, function)
        self._waiting_weight = 0
        self._weights = array("q")  # by function, 0 for those that are not announced
        self._known = 0  # functions that were announced, and their weight
        self._known_weight = 0
        self._in_flight: dict[int, tuple[int, ...]] = {}
        self._suspects: deque[int] = deque()
        self._killed: set[int] = set()  # in jobs that were killed, perhaps by others
        self._apart: deque[int] = deque()  # those that go in jobs by themselves
        self._alone: int | None = None  # the job of a suspect
        self._blamed: set[int] = set()  # and not settled yet
        self._mishaps = 0
        self._kills = 0
        self._jobs = 0
        self._done_weight = 0
        self._done_seconds = 0.0
        self._expected_pace = pace
        self._is_recalled = False
        self._last: float = math.inf  # function of which anything is wanted

    def handle(self, event: Event) -> list[Command]:
        """Take in an event and return what to do."""
        match event:
            case FunctionsReady():
                # Some are still being packed when the rest is recalled: those are for
                # passes that read them, and are not run here.
                if not self._is_recalled:
                    self._announce(event)
            case JobFinished():
                functions = self._taken_back(event.job)
                self._left -= len(functions)
                self._done_weight += sum(self._weights[f] for f in functions)
                self._done_seconds += event.seconds
                self._least = event.least
                self._mishaps = self._kills = 0
            case JobLost():
                return self._after_death(event)
            case DeadlinePassed():
                self._put_back_all(self._taken_back(event.job), but=(event.function,))
                return [*self._blame(event.function), *self._next()]
            case Ended() | Overtaken() | Recalled():
                return [*self._cut(event), *self._next()]
            case Settled():
                self._blamed.discard(event.function)
                if event.again:
                    self._put_back(event.function)
                else:
                    self._left -= 1
        return self._next()

    def _cut(self, event: Ended | Overtaken | Recalled) -> list[Command]:
        """Have less to do, and return what ends jobs."""
        if isinstance(event, Ended):
            return self._end_after(event.last)
        if isinstance(event, Overtaken):
            self._put_back_all(self._taken_back(event.job))
        else:
            self._recall()
        return []

    def _end_after(self, last: int) -> list[Command]:
        """Drop functions after the last one, and end jobs that have no others."""
        self._last = last
        waiting, self._waiting = self._waiting, []
        self._waiting_weight = 0
        suspects, self._suspects = self._suspects, deque[int]()
        apart, self._apart = self._apart, deque[int]()
        for function in [function for _, function in waiting]:
            self._put_back(function)
        for function in apart:
            self._put_back(function, apart=True)
        self._suspects.extend(function for function in suspects if function <= last)
        self._left -= len(suspects) - len(self._suspects)
        # A job that has one before the end goes on; what it gives for others is lost.
        useless = [job for job, some in self._in_flight.items() if min(some) > last]
        for job in useless:
            self._left -= len(self._taken_back(job))
        return [EndJob(job) for job in useless]

    def _recall(self) -> None:
        self._is_recalled = True
        self._left -= self._unannounced + len(self._waiting)
        self._unannounced = self._waiting_weight = 0
        self._waiting.clear()

    def _announce(self, event: FunctionsReady) -> None:
        missing = max(event.functions, default=-1) + 1 - len(self._weights)
        self._weights.extend([0] * missing)
        for function, weight in zip(event.functions, event.weights, strict=True):
            self._weights[function] = max(1, weight)
            self._known_weight += self._weights[function]
            self._put_back(function)
        self._known += len(event.functions)
        self._unannounced -= len(event.functions)

    def _after_death(self, event: JobLost) -> list[Command]:
        was_alone = self._alone == event.job
        functions = self._taken_back(event.job)
        # A note may tell of a job before this one: the worker died before it wrote.
        suspect = event.working_on if event.working_on in functions else None
        again = self._killed.intersection(functions)
        if event.host_died and not was_alone and suspect not in again:
            suspect = None
        if suspect is not None:
            self._mishaps = self._kills = 0
        elif event.killed:
            self._kills += 1
        else:
            self._mishaps += 1
        if self._mishaps > _MOST_MISHAPS or self._kills > _MOST_KILLS:
            return [GiveUp()]
        if was_alone and suspect is not None:
            return [*self._blame(suspect), *self._next()]
        if was_alone:
            # It died on nothing, which tells nothing of the suspect: it is next again.
            self._suspects.extendleft(functions)
            return self._next()
        is_unclear = event.killed and (suspect is None or event.host_died)
        for function in functions:
            if function == suspect:
                self._suspects.append(function)
            else:  # who is there twice may have had a part in it
                self._put_back(function, apart=is_unclear and function in again)
        if is_unclear:
            self._killed.update(functions)
        return self._next()

    def _taken_back(self, job: int) -> tuple[int, ...]:
        """Return the functions of a job that is not in flight any more."""
        if self._alone == job:
            self._alone = None
        return self._in_flight.pop(job)

    def _put_back_all(
        self, functions: Sequence[int], but: Collection[int] = ()
    ) -> None:
        for function in functions:
            if function not in but:
                self._put_back(function)

    def _blame(self, function: int) -> list[Command]:
        self._blamed.add(function)
        return [Blame(function)]

    def _next(self) -> list[Command]:
        if self._left == 0:
            return [Finish()]
        # Until it is settled what becomes of one, nobody knows whether it is the end.
        if self._blamed:
            return []
        if self._suspects or self._alone is not None:
            return self._next_suspect()
        commands: list[Command] = []
        while self._apart and self._has_room:
            commands.append(self._submit((self._apart.popleft(),)))
        while self._waiting and self._has_room:
            all_busy = len(self._in_flight) >= self._workers
            if all_busy and self._unannounced and self._waiting_weight < self._enough():
                break  # more is coming, and a job of many costs no more than one of few
            commands.append(self._submit(self._take()))
        return commands

    @property
    def _has_room(self) -> bool:
        return len(self._in_flight) < self._workers * _IN_FLIGHT

    def _next_suspect(self) -> list[Command]:
        # Alone, so that whatever dies meanwhile died of it: jobs under way come first.
        if self._in_flight:
            return []
        command = self._submit((self._suspects.popleft(),), alone=True)
        self._alone = command.job
        return [command]

    def _submit(self, functions: tuple[int, ...], *, alone: bool = False) -> SubmitJob:
        self._jobs += 1
        self._in_flight[self._jobs] = functions
        return SubmitJob(self._jobs, functions, alone, self._expected(functions))

    def _expected(self, functions: Sequence[int]) -> float:
        pace = self.pace
        if pace is None:
            return math.inf
        return pace * sum(self._weights[function] for function in functions)

    def _put_back(self, function: int, *, apart: bool = False) -> None:
        # It was in a job when it became known that a serial run ends before it.
        if function > self._last:
            self._left -= 1
            return
        if apart:
            self._apart.append(function)
            return
        weight = self._weights[function]
        heapq.heappush(self._waiting, (-weight, function))
        self._waiting_weight += weight

    def _take(self) -> tuple[int, ...]:
        limit = self._limit()
        taken: list[int] = []
        weight = 0
        while self._waiting and (not taken or weight - self._waiting[0][0] <= limit):
            negative, function = heapq.heappop(self._waiting)
            weight -= negative
            taken.append(function)
        self._waiting_weight -= weight
        return tuple(taken)

    def _enough(self) -> float:
        """Return how much must wait for a job on which no worker waits."""
        pace = self.pace
        enough = max(_ENOUGH_SECONDS, self._least)
        return min(self._limit(), enough / pace) if pace else self._limit()

    def _limit(self) -> float:
        """Return how heavy the next job may be."""
        unannounced = self._unannounced * self._known_weight / max(1, self._known)
        share = (self._waiting_weight + unannounced) / (self._workers * _SHARES)
        pace = self.pace
        if pace is None:
            share /= _CAUTION
        elif pace > 0:
            target = max(_DEAR_SECONDS if self._least else TARGET_SECONDS, self._least)
            least = max(_LEAST_SECONDS, self._least)
            share = min(max(share, least / pace), target / pace)
        idle = self._workers - len(self._in_flight)
        if idle > 0:  # what is there is for all of them
            each = self._waiting_weight / idle
            share = min(share, max(each, self._least / pace) if pace else each)
        return share

    @property
    def share_done(self) -> float:
        """The share of the work that is done, by weight, as far as that is known."""
        unannounced = self._unannounced * self._known_weight / max(1, self._known)
        return self._done_weight / max(1.0, self._known_weight + unannounced)

    @property
    def pace(self) -> float | None:
        """Seconds of work for each unit of weight, so far."""
        if not self._done_weight:
            return self._expected_pace
        return self._done_seconds / self._done_weight
