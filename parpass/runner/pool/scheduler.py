"""The scheduler of a stage: decides which functions go into which job, and when.

A state machine without a clock and without I/O. The coordinator feeds it events, and
carries out the commands that it returns. The order of events never affects a result.

Jobs are sized by measured cost. The largest functions go first, each worker has a few
jobs in flight, and jobs get smaller towards the end, so that neither thousands of tiny
functions nor a giant leave workers idle (guided self-scheduling; Polychronopoulos and
Kuck, 1987).

When a worker dies, only its job is lost. The function that it was running becomes a
suspect: it runs again alone, while no other job runs. If the worker dies again, the
function is at fault. If the worker is killed, perhaps from outside, such as when memory
is short, the suspect first gets one more trial alone. A function whose worker was
killed for being overdue is at fault without a second trial. The coordinator decides its
outcome: a failure, or another run under other conditions. All other functions run in
either case, so that the error that is raised does not depend on the order of events.

A suspect that runs alone leaves all other workers idle. So if the function is not
known, or a whole host died, on which a thousand may have run, no function becomes a
suspect at first. If that happens to a function again, it becomes a suspect if it is
known to have been running; else it runs in a job of one, beside other jobs.

When a function fails in the first pass, a serial run does not reach the functions after
it: these are dropped, and jobs of such functions only are cancelled, since they may
hang. The remaining ones run only to find an earlier failure. So from the first failure
on, in whatever pass, functions go in serial order, and none is queued behind a running
job. By size, the next to fail would be anywhere among the rest: if all functions hang,
each until its time limit, the first of them would be found after a number of limits
that grows with the logarithm of their number. In serial order, it is the next that
fails.

If the workers are slower than the coordinator's process alone would be, functions in no
job can be reclaimed, and run there once all jobs have ended. While a function runs that
is larger than all of them, that would gain nothing.

If a worker dies that runs no function (while it loads a stage, for example), only the
job is lost. If workers exit like that several times and no job finishes in between, no
worker can run here, and the scheduler aborts. If they are killed from outside, the
limit is higher: that may stop, and workers may get further each time.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Collection

from parpass.runner.pool.scheduler_events import (
    Abort,
    CancelJob,
    Command,
    DeadlinePassed,
    Event,
    FailureResolved,
    Finish,
    FunctionsReady,
    JobFinished,
    JobLost,
    Reclaimed,
    ResolveFailure,
    SubmitJob,
    Truncated,
    Withdraw,
    Withdrawn,
)

TARGET_SECONDS = 0.25  # of a job: far above its overhead of 1 ms
_EXPENSIVE_JOB_SECONDS = 0.5  # likewise, if the overhead of jobs is high
_MIN_JOB_SECONDS = 0.004  # even at the end, when jobs get small
_COORDINATOR_SECONDS = 0.0004  # of a job in the coordinator; row `scale` of `bench`
_QUEUED_JOB_SECONDS = 0.02  # of a queued job, while functions are being encoded
_UNKNOWN_COST_DIVISOR = 8  # of the size of jobs, until the cost is measured
_JOBS_IN_FLIGHT = 2  # for each worker, so that none waits for the coordinator
_MAX_UNEXPLAINED_DEATHS = 3  # in a row, attributed to no function
_MAX_EXTERNAL_KILLS = 50  # likewise, of workers that were killed from outside
_JOBS_PER_WORKER_LEFT = 1.25  # at least, of the size of the next one


class Scheduler:
    """Plans the jobs of one stage.

    Args:
        total: The number of functions of the stage.
        pace: Seconds for each unit of weight, as known before the stage; None if not.
        least: The shortest job in seconds, even if workers are idle.
    """

    def __init__(
        self, total: int, workers: int, pace: float | None = None, least: float = 0.0
    ) -> None:
        self._least = least
        # The coordinator serves one job after another. All workers can be busy only if
        # a job takes as long as it needs to serve one of each worker.
        self._round_seconds = workers * _COORDINATOR_SECONDS
        self._not_ready = total
        self._workers = workers
        # A heap of (-weight, function); of (0, function) once they go in order.
        self._waiting: list[tuple[int, int]] = []
        self._in_serial_order = False
        self._waiting_weight = 0
        self._weights = array("q")  # by function; 0 until it is ready
        self._known = 0  # functions that became ready, and their weight
        self._known_weight = 0
        self._in_flight: dict[int, SubmitJob] = {}
        self._singles: list[int] = []  # a heap of those that run in jobs of one
        self._suspects: set[int] = set()
        # Functions of jobs whose worker was killed, perhaps from outside.
        self._in_killed_jobs: set[int] = set()
        self._excused: set[int] = set()  # suspects that were killed when alone
        self._unresolved: set[int] = set()  # at fault, with no outcome yet
        self._unexplained_deaths = 0
        self._external_kills = 0
        self._jobs = 0
        self._done_weight = 0
        self._done_seconds = 0.0
        self._expected_pace = pace
        self._is_reclaimed = False
        self._last: float = math.inf  # function whose outcome is needed

    def handle(self, event: Event) -> list[Command]:
        match event:
            case FunctionsReady():
                self._add_ready(event)
            case JobFinished():
                done = self._in_flight.pop(event.job)
                self._done_weight += sum(self._weights[f] for f in done.functions)
                self._done_seconds += event.seconds
                self._least = event.least
                self._unexplained_deaths = self._external_kills = 0
            case JobLost():
                return self._on_job_lost(event)
            case DeadlinePassed():
                self._enqueue_all(event.job, but=(event.function,))
                return self._request_resolution(event.function)
            case Truncated():
                ended = self._truncate_after(event.last)
                return [*ended, *self._use_serial_order(), *self._next()]
            case Withdrawn():
                for job in event.jobs:
                    self._enqueue_all(job)
            case Reclaimed():
                self._reclaim()
            case FailureResolved():
                return [*self._on_resolved(event), *self._next()]
        return self._next()

    def _on_resolved(self, event: FailureResolved) -> list[Command]:
        self._unresolved.discard(event.function)
        if event.again:  # alone: the run may end with it
            self._enqueue(event.function, singly=event.may_truncate)
        return self._use_serial_order() if event.may_truncate else []

    def _use_serial_order(self) -> list[Command]:
        """Submit functions in serial order from now on."""
        if self._in_serial_order:
            return []
        self._in_serial_order = True
        self._waiting = sorted((0, function) for _, function in self._waiting)
        return [Withdraw()] if self._in_flight else []

    def _truncate_after(self, last: float) -> list[Command]:
        """Drop functions after the last one, and cancel jobs of such functions only."""
        self._last = last
        self._waiting = [one for one in self._waiting if one[1] <= last]
        self._waiting_weight = sum(self._weights[one] for _, one in self._waiting)
        self._singles = [one for one in self._singles if one <= last]
        self._suspects = {one for one in self._suspects if one <= last}
        heapq.heapify(self._waiting)
        heapq.heapify(self._singles)
        # A job with a function before the end goes on; other results are dropped.
        jobs = list(self._in_flight.values())
        useless = [one.job for one in jobs if min(one.functions) > last]
        for job in useless:
            del self._in_flight[job]
        return [CancelJob(job) for job in useless]

    def _reclaim(self) -> None:
        self._is_reclaimed = True
        self._not_ready = self._waiting_weight = 0
        self._waiting.clear()

    def _add_ready(self, event: FunctionsReady) -> None:
        # Functions encoded after the rest was reclaimed are there for passes that read
        # them, and run in the caller's process.
        if self._is_reclaimed:
            return
        missing = max(event.functions, default=-1) + 1 - len(self._weights)
        self._weights.extend([0] * missing)
        for function, weight in zip(event.functions, event.weights, strict=True):
            self._weights[function] = max(1, weight)
            self._known_weight += self._weights[function]
            self._enqueue(function)
        self._known += len(event.functions)
        self._not_ready -= len(event.functions)

    def _on_job_lost(self, event: JobLost) -> list[Command]:
        lost = self._in_flight.pop(event.job)
        suspect = self._suspect_of(event, lost)
        if suspect is not None:
            self._unexplained_deaths = self._external_kills = 0
        elif event.killed:
            self._external_kills += 1
        else:
            self._unexplained_deaths += 1
        if (
            self._unexplained_deaths > _MAX_UNEXPLAINED_DEATHS
            or self._external_kills > _MAX_EXTERNAL_KILLS
        ):
            return [Abort()]
        if lost.alone and suspect is not None:
            return self._request_resolution(suspect)
        if lost.alone:  # it stays a suspect
            self._suspects.update(lost.functions)
            return self._next()
        is_unclear = event.killed and (suspect is None or event.host_died)
        again = self._in_killed_jobs.intersection(lost.functions)
        for function in lost.functions:
            if function == suspect:
                self._suspects.add(function)
            else:  # one that was in two such jobs may be the cause
                self._enqueue(function, singly=is_unclear and function in again)
        if is_unclear:
            self._in_killed_jobs.update(lost.functions)
        return self._next()

    def _suspect_of(self, event: JobLost, lost: SubmitJob) -> int | None:
        """Return the function that may have ended a worker; None if there is none."""
        suspect = event.working_on
        # The slot may be stale: of the job before, if the worker died before it wrote.
        if suspect is None or suspect not in lost.functions:
            return None
        if not lost.alone:
            is_excused = event.host_died and suspect not in self._in_killed_jobs
        elif is_excused := event.killed and suspect not in self._excused:
            self._excused.add(suspect)
        return None if is_excused else suspect

    def _enqueue_all(self, job: int, but: Collection[int] = ()) -> None:
        """Enqueue the functions of a job, which is over."""
        for function in self._in_flight.pop(job).functions:
            if function not in but:
                self._enqueue(function)

    def _request_resolution(self, function: int) -> list[Command]:
        self._unresolved.add(function)
        return [ResolveFailure(function)]

    def _next(self) -> list[Command]:
        if self._is_finished:
            return [Finish()]
        # The run may end with one whose outcome is not decided yet.
        if self._unresolved or self._suspect_runs:
            return []
        commands: list[Command] = []
        while self._singles and self._has_room:
            commands.append(self._submit((heapq.heappop(self._singles),)))
        if self._suspects:
            return commands or self._next_suspect()
        while self._waiting and self._has_room:
            all_busy = len(self._in_flight) >= self._workers
            if (
                all_busy
                and self._not_ready
                and self._waiting_weight < self._min_queued_weight()
            ):
                break  # more functions will be ready, and fewer jobs cost less
            commands.append(self._submit(self._take()))
        return commands

    @property
    def _is_finished(self) -> bool:
        # A function without an outcome is in one of these.
        return not (
            self._in_flight
            or self._waiting
            or self._not_ready
            or self._singles
            or self._suspects
            or self._unresolved
        )

    @property
    def _suspect_runs(self) -> bool:
        jobs = self._in_flight
        return len(jobs) == 1 and next(iter(jobs.values())).alone

    @property
    def _has_room(self) -> bool:
        # A job that is queued behind one that hangs would not run in order.
        each = 1 if self._in_serial_order else _JOBS_IN_FLIGHT
        return len(self._in_flight) < self._workers * each

    def _next_suspect(self) -> list[Command]:
        # Alone, so that a death is attributed to it: jobs in flight finish first.
        if self._in_flight:
            return []
        first = min(self._suspects)
        self._suspects.remove(first)
        return [self._submit((first,), alone=True)]

    def _submit(self, functions: tuple[int, ...], *, alone: bool = False) -> SubmitJob:
        self._jobs += 1
        pace, weights = self.pace, self._weights
        weight = sum([weights[function] for function in functions])
        seconds = math.inf if pace is None else pace * weight
        made = SubmitJob(self._jobs, functions, alone, seconds)
        self._in_flight[made.job] = made
        return made

    def _enqueue(self, function: int, *, singly: bool = False) -> None:
        # It was in a job when the stage was truncated before it.
        if function > self._last:
            return
        if singly:
            heapq.heappush(self._singles, function)
            return
        weight = self._weights[function]
        key = 0 if self._in_serial_order else -weight
        heapq.heappush(self._waiting, (key, function))
        self._waiting_weight += weight

    def _take(self) -> tuple[int, ...]:
        # Until the first job has finished, each may hang, and delay others in its job.
        is_blind = self._in_serial_order and self.pace is None
        limit = 0.0 if is_blind else self._max_job_weight()
        taken: list[int] = []
        weight = 0
        while self._waiting:
            heavier = weight + self._weights[self._waiting[0][1]]
            if taken and heavier > limit:
                break
            taken.append(heapq.heappop(self._waiting)[1])
            weight = heavier
        self._waiting_weight -= weight
        return tuple(taken)

    def _min_queued_weight(self) -> float:
        """Return the weight of waiting functions from which on a job is queued."""
        pace = self.pace
        enough = max(_QUEUED_JOB_SECONDS, self._least)
        most = self._max_job_weight()
        return min(most, enough / pace) if pace else most

    def _max_job_weight(self) -> float:
        share = (self._waiting_weight + self._unready_weight) / (
            self._workers * _JOBS_PER_WORKER_LEFT
        )
        pace = self.pace
        least = max(self._least, self._round_seconds)
        if pace is None:
            share /= _UNKNOWN_COST_DIVISOR
        elif pace > 0:
            target = max(
                _EXPENSIVE_JOB_SECONDS if self._least else TARGET_SECONDS, least
            )
            share = min(max(share, max(_MIN_JOB_SECONDS, least) / pace), target / pace)
        idle = self._workers - len(self._in_flight)
        if idle > 0:  # each of them is to get a job
            each = self._waiting_weight / idle
            share = min(share, max(each, least / pace) if pace else each)
        return share

    @property
    def fraction_done(self) -> float:
        """The fraction of the work that is done, by estimated weight."""
        return self._done_weight / max(1.0, self._known_weight + self._unready_weight)

    @property
    def outlasts_giants(self) -> bool:
        """Whether the functions in no job are more work than any job of one function.

        Otherwise, workers are through with them before that function has ended.
        """
        jobs = [one.functions for one in self._in_flight.values()]
        giant = max([self._weights[job[0]] for job in jobs if len(job) == 1], default=0)
        return self._waiting_weight + self._unready_weight > giant

    @property
    def _unready_weight(self) -> float:
        """The estimated weight of functions that are not ready yet."""
        return self._not_ready * self._known_weight / max(1, self._known)

    @property
    def pace(self) -> float | None:
        """Seconds for each unit of weight, measured or as given; None if not known."""
        if not self._done_weight:
            return self._expected_pace
        return self._done_seconds / self._done_weight
