"""What would make a run faster: each kind of trouble, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from parpass.runner.report.figures import Reason, RunFigures, time_text

_WORTH = 0.05  # of a run's time, from which on a trouble is told
_STAGE_SECONDS = 0.003  # of a barrier, besides what is measured
_SMALL = 0.02  # seconds of a run for which no advice is worth reading

Trouble = tuple[float, str]  # the seconds that would be saved, about; what to do


def advice(report: RunFigures) -> tuple[str, ...]:
    """Return what would help, what would help most first; it is never empty."""
    found = [trouble for look in _LOOKS for trouble in look(report)]
    least = max(_WORTH * report.seconds, _WORTH * _SMALL)
    worth = sorted([one for one in found if one[0] >= least], reverse=True)
    return tuple(text for _, text in worth) or (_all_well(report),)


def _all_well(report: RunFigures) -> str:
    if report.here.get(Reason.SMALL.value, 0.0) > report.in_workers:
        return (
            f"nothing; {time_text(report.work)} of work are too little to be shared "
            "out, so it stayed in this process"
        )
    if report.speedup is None:
        return "nothing stands out"
    return f"nothing stands out; it is {report.speedup / report.limit:.0%} of the limit"


def _behind_serial(report: RunFigures) -> Iterator[Trouble]:
    is_their_fault = report.in_workers > 0 and not report.lacks_cores
    if report.serial_seconds is not None and is_their_fault:
        text = (
            "the workers took longer than this process alone would have: the cores are "
            "worth less together than one by one, or the journey was dear; the next "
            "runs of these passes will rather stay in this process"
        )
        yield report.seconds - report.serial_seconds, text


def _few_cores(report: RunFigures) -> Iterator[Trouble]:
    if report.lacks_cores:
        text = (
            f"the {report.workers} workers had {report.cores:.1f} cores while they "
            "worked: other programs keep the cores busy, or this one may use fewer of "
            "them than it sees"
        )
        yield report.queued / report.workers, text


def _saved_by_sharing(report: RunFigures, seconds: float) -> float:
    return seconds * (1 - 1 / max(2, report.workers))


def _module_passes(report: RunFigures) -> Iterator[Trouble]:
    for name, seconds in report.module_passes.items():
        text = (
            f"module pass '{name}' takes {seconds / report.seconds:.0%} of the time, "
            "and nothing runs beside it: what it does function by function belongs in "
            "a function pass"
        )
        yield _saved_by_sharing(report, seconds), text


def _instruments(report: RunFigures) -> Iterator[Trouble]:
    for name, seconds in report.instruments.items():
        text = (
            f"the hooks of instrument '{name}' take {seconds / report.seconds:.0%} of "
            "the time, and nothing runs beside them"
        )
        yield seconds, text


def _observers(report: RunFigures) -> Iterator[Trouble]:
    if report.observers and report.stages > 1 and report.in_workers:
        names = ", ".join(f"'{name}'" for name in report.observers)
        workers = (report.waiting + report.idle_at_end) / max(1, report.workers)
        beside = report.looking + _STAGE_SECONDS * report.stages
        text = (
            f"an observing instrument ({names}) makes every pass a barrier, after "
            "which all functions are unpacked: set observes_ir = False in its class "
            "if it does not look at the module"
        )
        yield beside + workers, text


def _unsendable(report: RunFigures) -> Iterator[Trouble]:
    for name, reason in report.unsendable.items():
        yield (
            _saved_by_sharing(report, report.passes.get(name, 0.0)),
            f"pass '{name}' cannot be pickled, so it ran in this process: {reason}",
        )
    left = report.here.get(Reason.UNSENDABLE.value, 0.0)
    if not report.unsendable:
        text = (
            "a function cannot be pickled, so the run stayed in this process; the "
            "warning names what is in the way"
        )
        yield _saved_by_sharing(report, left), text


def _no_room(report: RunFigures) -> Iterator[Trouble]:
    text = (
        "there was no room to share bytes with the workers: enlarge /dev/shm, or set "
        "TMPDIR to a folder with room"
    )
    yield _saved_by_sharing(report, report.here.get(Reason.NO_ROOM.value, 0.0)), text


def _no_workers(report: RunFigures) -> Iterator[Trouble]:
    yield (
        _saved_by_sharing(report, report.here.get(Reason.NO_WORKERS.value, 0.0)),
        "function passes ran in this process alone: workers=None uses every core",
    )


def _largest_function(report: RunFigures) -> Iterator[Trouble]:
    single = report.here.get(Reason.ONE_FUNCTION.value, 0.0)
    text = (
        "the module has a single function, and a function is never split: cut it into "
        "several (by block, say)"
    )
    yield _saved_by_sharing(report, single), text
    if report.work and report.workers:
        share = report.largest_function_seconds / report.work
        text = (
            f"function '{report.largest_function}' holds {share:.0%} of the work, and "
            "a function is never split: cut it into several (by block, say)"
        )
        yield report.longest_path - report.work / report.workers, text


def _light_passes(report: RunFigures) -> Iterator[Trouble]:
    here = sum(report.here.values())
    passes = max(0.0, min(report.work - here, report.busy))
    if report.in_workers:
        journey = report.busy - passes + report.waiting
        least = max(report.longest_path, passes / report.workers)
        text = (
            f"the passes are light ({time_text(passes)}) beside the journey of the "
            f"functions ({time_text(journey)}): put more of them in one pipeline, so "
            "that they share the journey"
        )
        yield min(journey / report.workers, report.in_workers - least), text


def _start(report: RunFigures) -> Iterator[Trouble]:
    seconds = report.starting / max(1, report.workers)
    text = (
        f"starting the workers took {time_text(seconds)}: keep them for several runs, "
        "with open_runner"
    )
    yield seconds, text


_LOOKS: tuple[Callable[[RunFigures], Iterator[Trouble]], ...] = (
    _behind_serial,
    _few_cores,
    _module_passes,
    _instruments,
    _observers,
    _unsendable,
    _no_room,
    _no_workers,
    _largest_function,
    _light_passes,
    _start,
)
