"""A cluster of up to a thousand workers, simulated: where the coordinator is the limit.

The schedule, the choice of a worker, and how long jobs are to be, are parpass's own:
none of them has a clock or I/O, so they are driven by events here, whose times are made
of costs. Row `scale` measures these, and draws what comes of them.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field

from parpass.integrations.dask.dask_workers import (
    DaskWorker,
    DaskWorkers,
    RoundTripEstimate,
)
from parpass.runner.pool.scheduler import Scheduler
from parpass.runner.pool.scheduler_events import (
    Abort,
    CancelJob,
    Event,
    Finish,
    FunctionsReady,
    JobFinished,
    JobLost,
    SubmitJob,
)

_PACKED_AT_ONCE = 64  # functions


@dataclass(frozen=True)
class Costs:
    """What a run costs besides its work, in seconds of a processor.

    Attributes:
        stage: For the coordinator to begin a stage and end it.
        pack: For it to pack a function, and to plan its job.
        byte: The same, for each byte of it.
        accept: For it to take in that a function is unchanged.
        unpack: For it to take in a function that is changed, beyond that.
        back_byte: The same, for each byte of it.
        send: For it to send a job, and to hear of it.
        load: For a worker to load a stage.
        job: For a worker to begin a job, and to answer.
        work: For a worker to unpack a function, and to pack it if it is changed.
        work_byte: The same, for each byte of it.
        route: For Dask's scheduler to bring a job to its worker, and the answer back.
        way: For a message to a worker, or back, while nobody computes.
        restart: For a worker that died to be there again; assumed.
    """

    stage: float = 0.0
    pack: float = 0.0
    byte: float = 0.0
    accept: float = 0.0
    unpack: float = 0.0
    back_byte: float = 0.0
    send: float = 0.0
    load: float = 0.0
    job: float = 0.0
    work: float = 0.0
    work_byte: float = 0.0
    route: float = 0.0
    way: float = 0.0
    restart: float = 10.0

    def encoding(self, size: int) -> float:
        """Return what a function of so many bytes takes to be packed."""
        return self.pack + size * self.byte

    def accepting(self, size: int, *, changed: bool) -> float:
        """Return what an outcome takes the coordinator."""
        back = self.unpack + size * self.back_byte if changed else 0.0
        return self.accept + back


@dataclass(frozen=True)
class Cluster:
    """What is simulated.

    Attributes:
        workers: How many workers, of one thread each.
        functions: How many functions.
        seconds: What the passes take on a function.
        costs: What else takes time.
        size: The bytes of a function.
        changed: Whether passes change it, so that it comes back.
        lifetime: Seconds after which a worker dies, on average; None for never.
        follows: Whether jobs are as long as their way asks for, as Dask's executor
            does; else of a quarter of a second at most, as on one machine.
        seed: Of deaths.
    """

    workers: int
    functions: int
    seconds: float
    costs: Costs = field(default_factory=Costs)
    size: int = 0
    changed: bool = False
    lifetime: float | None = None
    follows: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Simulated:
    """What came of it.

    Attributes:
        seconds: What the stage took.
        efficiency: The share of the workers' time that was spent on functions.
        jobs: How many jobs were sent.
        lost: How many of them were lost with a worker.
        coordinator: The share of the time that the coordinator was busy.
        scheduler: The same of Dask's scheduler.
        processor: The seconds of processors that it took, of all together.
    """

    seconds: float
    efficiency: float
    jobs: int
    lost: int
    coordinator: float
    scheduler: float
    processor: float


class _Queue:
    """What does one thing after the other."""

    def __init__(self) -> None:
        self.free = self.busy = 0.0

    def take(self, now: float, seconds: float) -> float:
        """Return when something is done that comes now."""
        self.free = max(now, self.free) + seconds
        self.busy += seconds
        return self.free


class _Worker:
    def __init__(self, place: DaskWorker) -> None:
        self.place = place
        self.queue = _Queue()
        self.jobs: set[int] = set()
        self.has_loaded = False  # the stage


@dataclass
class _Job:
    command: SubmitJob
    worker: _Worker
    posted: float
    at_once: bool  # whether its worker had nothing else to do
    work: float  # of its worker, with what the job costs there
    done: float = math.inf  # when the worker is done with it


class _Simulation:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.now = 0.0
        self.random = random.Random(cluster.seed)
        self.coordinator, self.scheduler = _Queue(), _Queue()
        self.places, self.cost = DaskWorkers(), RoundTripEstimate()
        self.workers: dict[str, _Worker] = {}
        self.jobs: dict[int, _Job] = {}
        self.waiting: list[SubmitJob] = []
        self.count = self.sent = self.lost = 0
        self._agenda: list[tuple[float, int, str, int]] = []
        least = self.cost.least_job_seconds if cluster.follows else 0.0
        self.schedule = Scheduler(
            cluster.functions, cluster.workers, cluster.seconds, least
        )
        self.is_over = False
        self.worked = 0.0  # seconds of the workers

    def run(self) -> Simulated:
        """Run until all is done."""
        for _ in range(self.cluster.workers):
            self._join()
        self._plan(self.coordinator.take(0.0, self.cluster.costs.stage), "pack", 0)
        while not self.is_over:
            self.now, _, what, number = heapq.heappop(self._agenda)
            getattr(self, f"_{what}")(number)
        work = self.cluster.functions * self.cluster.seconds
        busy = self.coordinator.busy, self.scheduler.busy
        return Simulated(
            seconds=self.now,
            efficiency=work / (self.cluster.workers * self.now),
            jobs=self.sent,
            lost=self.lost,
            coordinator=busy[0] / self.now,
            scheduler=busy[1] / self.now,
            processor=sum(busy, self.worked),
        )

    def _plan(self, at: float, what: str, number: int) -> None:
        self.count += 1
        heapq.heappush(self._agenda, (at, self.count, what, number))

    def _handle(self, event: Event) -> None:
        for command in self.schedule.handle(event):
            match command:
                case SubmitJob():
                    self._submit(command)
                case Finish():
                    self.is_over = True
                case Abort():
                    raise AssertionError("workers die faster than jobs are done")
                case CancelJob():
                    raise AssertionError("nothing fails here")
                case _:
                    raise AssertionError(command)

    def _pack(self, done: int) -> None:
        """Functions are packed, some at a time, beside all else."""
        if done:
            first = (done - 1) // _PACKED_AT_ONCE * _PACKED_AT_ONCE
            self._handle(FunctionsReady(range(first, done), [1] * (done - first)))
        if done < self.cluster.functions:
            more = min(_PACKED_AT_ONCE, self.cluster.functions - done)
            each = self.cluster.costs.encoding(self.cluster.size)
            at = self.coordinator.take(self.now, more * each)
            self._plan(at, "pack", done + more)

    def _submit(self, command: SubmitJob) -> None:
        place = self.places.best()
        if place is None:
            self.waiting.append(command)
            return
        costs, worker = self.cluster.costs, self.workers[place.address]
        work = self._work(len(command.functions), worker)
        self.worked += work
        self.jobs[command.job] = _Job(command, worker, self.now, place.has_idle, work)
        place.jobs += 1
        worker.jobs.add(command.job)
        self.sent += 1
        sent = self.coordinator.take(self.now, costs.send / 2)
        routed = self.scheduler.take(sent, costs.route / 2)
        done = worker.queue.take(routed + costs.way, work)
        self.jobs[command.job].done = done
        self._plan(done, "done", command.job)

    def _work(self, functions: int, worker: _Worker) -> float:
        costs, cluster = self.cluster.costs, self.cluster
        each = cluster.seconds + costs.work + cluster.size * costs.work_byte
        first = 0.0 if worker.has_loaded else costs.load
        worker.has_loaded = True
        return first + costs.job + functions * each

    def _done(self, number: int) -> None:
        """A worker has done a job, if it is not lost."""
        if number in self.jobs:
            routed = self.scheduler.take(self.now, self.cluster.costs.route / 2)
            self._plan(routed + self.cluster.costs.way, "arrived", number)

    def _arrived(self, number: int) -> None:
        """The coordinator takes in an answer."""
        if number in self.jobs:
            costs = self.cluster.costs
            functions = len(self.jobs[number].command.functions)
            each = costs.accepting(self.cluster.size, changed=self.cluster.changed)
            seconds = costs.send / 2 + functions * each
            self._plan(self.coordinator.take(self.now, seconds), "heard", number)

    def _heard(self, number: int) -> None:
        job = self._taken_back(number)
        if job is None:
            return
        if job.at_once:
            self.cost.update(self.now - job.posted - job.work)
        least = self.cost.least_job_seconds if self.cluster.follows else 0.0
        self._handle(JobFinished(number, job.work, least))

    def _taken_back(self, number: int) -> _Job | None:
        job = self.jobs.pop(number, None)
        if job is not None:
            job.worker.jobs.discard(number)
            job.worker.place.jobs -= 1
        return job

    def _join(self, _: int = 0) -> None:
        """A worker comes."""
        self.count += 1
        address = str(self.count)
        self.workers[address] = _Worker(self.places.join(address, 1))
        if self.cluster.lifetime is not None:
            life = self.random.expovariate(1 / self.cluster.lifetime)
            self._plan(self.now + life, "die", int(address))
        waiting, self.waiting = self.waiting, []
        for command in waiting:
            self._submit(command)

    def _die(self, number: int) -> None:
        """A worker dies; what it had is run again."""
        worker = self.workers.pop(str(number))
        self.places.leave(str(number))
        self._plan(self.now + self.cluster.costs.restart, "join", 0)
        lost = sorted(worker.jobs)
        at_work = self._at_work(lost)
        for job in lost:
            self._taken_back(job)
        for job in lost:
            self.lost += 1
            at = at_work.get(job)
            self._handle(JobLost(job, at, killed=True, host_died=True))

    def _at_work(self, lost: list[int]) -> dict[int, int]:
        """Return the function that each job of a worker is at, as that has told."""
        found: dict[int, int] = {}
        for number in lost:
            job = self.jobs[number]
            began = job.done - job.work
            if began <= self.now < job.done:
                at = int((self.now - began) / self.cluster.seconds)
                found[number] = job.command.functions[: at + 1][-1]
        return found


def simulated(cluster: Cluster) -> Simulated:
    """Simulate one stage."""
    return _Simulation(cluster).run()
