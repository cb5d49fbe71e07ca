"""The figures of a run: where its time went, and what follows from that."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import msgspec

_TOLD = 0.05  # seconds of jobs, of which it can be told how they went
_LITTLE = 0.2  # of them in a queue, as this process and the system need a core, too


class Reason(enum.StrEnum):
    """Why function passes ran in the coordinator's process."""

    NO_WORKERS = "without workers"
    ONE_FUNCTION = "a single function"
    SMALL = "small work"
    UNSENDABLE = "what cannot be sent"
    UNLOADABLE = "what workers cannot load"
    NO_ROOM = "no room to share bytes"
    BEHIND = "workers that were behind"
    AGAIN = "functions whose callee changed its type, again"
    NO_PROCESSES = "no processes to be had"


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run. All times are seconds.

    The parts of the time add up: `beforehand`, `module_passes`, `instruments`, `here`,
    `in_workers`, `looking` and `rest` to `seconds`; `busy`, `starting`, `idle_at_end`
    and `waiting` to `workers * in_workers`. `packing` and `unpacking` go on beside the
    workers.

    Attributes:
        seconds: How long the run took.
        workers: How many processes might be used; 0 for none.
        beforehand: Until the run was begun: reading pipeline text and, for the first
            run of a program, loading what runs need.
        module_passes: Module passes, by name. Nothing runs beside them.
        instruments: The hooks of instruments, by name. Nothing runs beside them.
        here: Function passes in this process, by the reason why they were run here.
        in_workers: While stages were run in the workers.
        looking: Unpacking functions between stages and at the end, because a module
            pass, an instrument or the caller looks at them.
        rest: All else: putting outcomes together, contract checks.
        busy: Of the workers, on jobs: passes, and unpacking and packing around them.
        processor: Of processors, that workers took for jobs.
        queued: Of `busy`, ready to run and without a processor, as others had them.
        starting: Of the workers, before the first of them was there.
        idle_at_end: Of the workers, after the last job of a stage was handed out.
        waiting: Of the workers, for jobs.
        packing: Of the coordinator, encoding functions.
        unpacking: Of the coordinator, decoding functions while others were run.
        passes: Function passes by name: the sum over all functions, wherever run.
        largest_function: The one on which passes took longest; None if not measured.
        largest_function_seconds: How long that was.
        longest_path: The sum of the longest function of each stage: however many
            workers there are, function passes take as long.
        stages: How many runs of consecutive function passes there were.
        jobs: How many portions of functions workers were given.
        functions: How many functions they were given, summed over stages.
        bytes_sent: Of functions, passes and jobs, without large values.
        bytes_received: Of results, without large values.
        unsendable: The passes that cannot be pickled, and why.
        observers: The instruments that look at the module around passes.
        serial_seconds: What a serial run takes, by what passes took in this process;
            None where some were never measured there.
    """

    seconds: float
    workers: int
    module_passes: Mapping[str, float]
    instruments: Mapping[str, float]
    here: Mapping[str, float]
    in_workers: float
    looking: float
    rest: float
    busy: float
    starting: float
    idle_at_end: float
    waiting: float
    packing: float
    unpacking: float
    passes: Mapping[str, float]
    largest_function: str | None
    largest_function_seconds: float
    longest_path: float
    stages: int
    jobs: int
    functions: int
    bytes_sent: int
    bytes_received: int
    unsendable: Mapping[str, str]
    observers: Sequence[str]
    serial_seconds: float | None = None
    processor: float = 0.0
    queued: float = 0.0
    beforehand: float = 0.0

    @property
    def work(self) -> float:
        """The seconds of all function passes on all functions."""
        return sum(self.passes.values())

    @property
    def serial(self) -> float:
        """The seconds of what nothing runs beside: module passes and instruments."""
        return sum(self.module_passes.values()) + sum(self.instruments.values())

    @property
    def serial_share(self) -> float:
        """The share of module passes and instruments in a serial run, about."""
        return ratio(self.serial, self.serial + self.work, none=0.0)

    @property
    def speedup(self) -> float | None:
        """How many times faster than a serial run this one was; None if not known.

        What passes took in the workers tells nothing of it: where cores are taken, or
        worth less than they seem, it is longer than it would have been here.
        """
        if not self.serial_seconds:
            return None
        return ratio(self.serial_seconds, self.seconds)

    @property
    def cores(self) -> float:
        """How many cores were to be had by the workers while they worked."""
        return self.workers * (1.0 - ratio(self.queued, self.busy, none=0.0))

    @property
    def lacks_cores(self) -> bool:
        """Whether the workers had far less than a core each while they worked."""
        return self.busy > _TOLD and self.queued > _LITTLE * self.busy

    @property
    def ceiling(self) -> float:
        """How much faster so many workers can be, for the serial share (Amdahl)."""
        shared = self.work / max(1, self.workers)
        return ratio(self.serial + self.work, self.serial + shared)

    @property
    def limit(self) -> float:
        """The ceiling, seeing also that a function is never split."""
        path = max(self.longest_path, self.work / max(1, self.workers))
        return ratio(self.serial + self.work, self.serial + path)


def time_text(seconds: float) -> str:
    """Return seconds as they are read best: 1.25 s, 12.5 ms."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def ratio(part: float, whole: float, *, none: float = 1.0) -> float:
    """Return a part of a whole; `none` where there is no whole."""
    return part / whole if whole > 0 else none
