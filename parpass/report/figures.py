"""The figures of a run: measured times, and what is computed from them.

This module is apart from `report`, since both that and `advice` import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from parpass.runner.observers import CacheFigures

_MIN_BUSY_SECONDS = 0.05  # of jobs, for their time in a queue to mean anything
# Of them in a queue, which is normal: this process and the system need a core, too.
_NORMAL_QUEUED_SHARE = 0.2
_MAX_NAMED_PASSES = 4


class WorkerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of each stage in the workers; those of a run are the sums.

    Attributes:
        in_workers: The stages in the workers.
        busy: Of the workers, in jobs: passes, and the decoding and encoding of
            functions.
        processor: Processor time of the workers in jobs.
        queued: Of `busy`, ready to run, waiting for a processor.
        copying: Copying functions that passes may change, and comparing them, where the
            adapter states nothing of that.
        starting: Of the workers, until each had its first job.
        idle_at_end: Of the workers, after the last job of a stage was submitted.
        waiting: Of the workers, waiting for jobs.
        encoding: Of the coordinator, encoding functions.
        decoding: Of the coordinator, decoding functions while workers ran others.
        jobs: The number of jobs that workers were sent.
        functions: The number of functions that they were sent.
        deaths: How many workers died, or were killed because they hung.
        retries: How many functions were run again, as their worker died or was killed.
        bytes_sent: The bytes of functions, passes and jobs, without large values.
        bytes_received: The bytes of results, without large values.
    """

    in_workers: float = 0.0
    busy: float = 0.0
    processor: float = 0.0
    queued: float = 0.0
    copying: float = 0.0
    starting: float = 0.0
    idle_at_end: float = 0.0
    waiting: float = 0.0
    encoding: float = 0.0
    decoding: float = 0.0
    jobs: int = 0
    functions: int = 0
    deaths: int = 0
    retries: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class StageFigures(WorkerFigures, frozen=True, kw_only=True):
    """The figures of one stage in the workers; all times are seconds.

    Attributes:
        passes: The names of its passes.
    """

    passes: Sequence[str]

    @property
    def name(self) -> str:
        """Its passes, each once: those that restore invariants are there often."""
        names = list(dict.fromkeys(self.passes))
        more = ", ..." if len(names) > _MAX_NAMED_PASSES else ""
        return f"stage: {', '.join(names[:_MAX_NAMED_PASSES])}{more}"

    @property
    def counts(self) -> str:
        """The numbers of its parts, and the bytes sent for them, in words."""
        return ", ".join(
            (
                count_text(len(self.passes), "pass", "passes"),
                count_text(self.functions, "function"),
                count_text(self.jobs, "job"),
                f"{size_text(self.bytes_sent)} out",
                f"{size_text(self.bytes_received)} back",
            )
        )


class RunFigures(WorkerFigures, frozen=True, kw_only=True):
    """The figures of one run. All times are seconds.

    The parts of the time add up: `beforehand`, `loading`, `module_passes`,
    `instruments`, `here`, `in_workers`, `looking` and `rest` to `seconds`; `busy`,
    `starting`, `idle_at_end` and `waiting` to `workers * in_workers`. `encoding` and
    `decoding` are parallel to the workers.

    Attributes:
        seconds: The whole run.
        workers: How many processes might be used; 0 for none.
        beforehand: Before the start: parsing pipeline text and, for the first run of a
            program, imports.
        loading: In this process, the first time that functions are sent: importing what
            sends them, and starting the workers.
        module_passes: Module passes, by name. Nothing runs in parallel to them.
        instruments: Hooks of instruments, by name. Nothing runs in parallel to them.
        here: Function passes in this process, by the reason why they ran here.
        looking: Decoding functions between stages and at the end, because a module
            pass, an instrument or the caller reads them.
        rest: All else: merging outcomes, contract checks.
        copying: In all processes, copying functions that passes may change, and
            comparing them, where the adapter states nothing of that.
        passes: Function passes by name, summed over all functions and processes.
        largest_function: The function with the longest time of passes; None if that was
            not measured.
        largest_function_seconds: That time.
        longest_path: The sum of the longest function of each stage: a lower bound of
            the time of function passes with any number of workers.
        stages: The number of sequences of consecutive function passes.
        unsendable: The passes that cannot be pickled, and why.
        observers: The instruments that read the module around passes.
        serial_seconds: The time of a serial run of the same, as `--compare-serial`
            measures it; None if it was not measured.
        cache: What a function cache gave; None in a run without one.
        stages_in_workers: The figures of each stage in the workers, in order.
    """

    seconds: float
    workers: int
    module_passes: Mapping[str, float]
    instruments: Mapping[str, float]
    here: Mapping[str, float]
    looking: float
    rest: float
    passes: Mapping[str, float]
    largest_function: str | None
    largest_function_seconds: float
    longest_path: float
    stages: int
    unsendable: Mapping[str, str]
    observers: Sequence[str]
    serial_seconds: float | None = None
    beforehand: float = 0.0
    loading: float = 0.0
    cache: CacheFigures | None = None
    stages_in_workers: Sequence[StageFigures] = ()

    @property
    def work(self) -> float:
        """The seconds of all function passes on all functions."""
        return sum(self.passes.values())

    @property
    def serial(self) -> float:
        """The seconds of module passes and instruments, which run alone."""
        return sum(self.module_passes.values()) + sum(self.instruments.values())

    @property
    def serial_share(self) -> float:
        """The share of module passes and instruments in a serial run, about."""
        return ratio(self.serial, self.serial + self.work, none=0.0)

    @property
    def has_recalled(self) -> bool:
        """Whether functions were taken from a cache, of which no times are known."""
        return self.cache is not None and self.cache.recalled > 0

    @property
    def speedup(self) -> float | None:
        """The measured time of a serial run, divided by the time; None if unknown.

        It is not estimated. Times of passes in the workers are no basis for that: if
        cores are busy, or slower together, they are longer than they would have been in
        this process. And those of other runs are of other moments of the machine.
        """
        if not self.serial_seconds:
            return None
        return ratio(self.serial_seconds, self.seconds)

    @property
    def start_up(self) -> float:
        """The part of the time that later runs of the process do not take.

        That is imports, and the start of workers.
        """
        return min(self.seconds, self.beforehand + self.start_of_workers)

    @property
    def start_of_workers(self) -> float:
        """The cost of starting workers: here and, on average, of each of them."""
        return self.loading + self.starting / max(1, self.workers)

    @property
    def warm_speedup(self) -> float | None:
        """The speedup without the start-up; None if unknown."""
        if self.speedup is None:
            return None
        return ratio(self.serial_seconds or 0.0, self.seconds - self.start_up)

    @property
    def cores(self) -> float:
        """How many cores the workers had, on average, while they were busy."""
        return self.workers * (1.0 - ratio(self.queued, self.busy, none=0.0))

    @property
    def lacks_cores(self) -> bool:
        """Whether the workers had far less than a core each while they were busy."""
        return self.busy > _MIN_BUSY_SECONDS and (
            self.queued > _NORMAL_QUEUED_SHARE * self.busy
        )

    @property
    def ceiling(self) -> float:
        """The largest speedup with these workers, by Amdahl's law."""
        shared = self.work / max(1, self.workers)
        return ratio(self.serial + self.work, self.serial + shared)

    @property
    def limit(self) -> float:
        """The ceiling, with the bound that a function is never split."""
        path = max(self.longest_path, self.work / max(1, self.workers))
        return ratio(self.serial + self.work, self.serial + path)


def time_text(seconds: float) -> str:
    """Return seconds as text, in seconds or milliseconds: 1.25 s, 12.5 ms."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def count_text(count: int, one: str, several: str = "") -> str:
    """Return a number of things as text: 1 job, 1,600 jobs."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def ratio(part: float, whole: float, *, none: float = 1.0) -> float:
    """Return `part / whole`; `none` if the whole is zero."""
    return part / whole if whole > 0 else none


def size_text(size: float) -> str:
    """Return bytes as text, in powers of 1000: 310 B, 12.5 kB, 3.1 MB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size:.0f} B"
