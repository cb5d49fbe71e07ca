"""Recommendations: what would make a run faster, and how much each would save."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from parpass.errors import Hint, HintedMessage
from parpass.report.figures import RunFigures, time_text
from parpass.runner.placement import PlacementReason

_MIN_SHARE = 0.05  # of the time of a run that a recommendation has to save
_MIN_RUN_SECONDS = 0.02  # a shorter run counts as this long for `_MIN_SHARE`
_STAGE_SECONDS = 0.003  # of a barrier, besides what is measured
_START_SECONDS = 0.3  # to start workers, about

Recommendation = tuple[float, str]  # the seconds that it would save, about, and text


def recommend(report: RunFigures) -> tuple[str, ...]:
    """Return the recommendations for a run, at least one; what saves most is first."""
    found = [one for check in _CHECKS for one in check(report)]
    least = max(_MIN_SHARE * report.seconds, _MIN_SHARE * _MIN_RUN_SECONDS)
    useful = sorted([one for one in found if one[0] >= least], reverse=True)
    return tuple(text for _, text in useful) or (_no_recommendation(report),)


def _no_recommendation(report: RunFigures) -> str:
    if report.here.get(PlacementReason.SMALL.value, 0.0) > report.in_workers:
        return (
            f"none; with {time_text(report.work)} of work, workers would save less "
            "time than it takes to start them or to send them functions"
        )
    if report.warm_speedup is None:
        return "no single bottleneck"
    share = report.warm_speedup / report.limit
    return f"no single bottleneck; {share:.0%} of the ideal speed-up"


def _behind_serial(report: RunFigures) -> Iterator[Recommendation]:
    workers_are_slow = report.in_workers > 0 and not report.lacks_cores
    serial = report.serial_seconds
    if serial is not None and workers_are_slow:
        text = (
            "the workers took longer than this process alone would have: the cores "
            "are slower together than one by one, or the transfer was expensive. The "
            "next runs of these passes will tend to stay in this process"
        )
        # The start-up is not of the work of the workers; other advice covers it.
        yield report.seconds - report.start_up - serial, text


def _few_cores(report: RunFigures) -> Iterator[Recommendation]:
    if report.lacks_cores:
        text = (
            f"the {report.workers} workers had only {report.cores:.1f} cores: other "
            "programs keep the cores busy, this one may use fewer than it sees, or "
            "there are more workers than cores"
        )
        yield report.queued / report.workers, text


def _saved_by_sharing(report: RunFigures, seconds: float) -> float:
    """Return the seconds saved if the workers, or two if there are none, share work."""
    if report.workers == 1 or report.here.get(PlacementReason.ONE_FUNCTION.value):
        return 0.0
    return seconds * (1 - 1 / max(2, report.workers))


def _module_passes(report: RunFigures) -> Iterator[Recommendation]:
    for name, seconds in report.module_passes.items():
        text = (
            f"module pass '{name}' takes {seconds / report.seconds:.0%} of the time, "
            "and nothing runs in parallel to it: move what it does function by "
            "function into a function pass"
        )
        yield _saved_by_sharing(report, seconds), text


def _instruments(report: RunFigures) -> Iterator[Recommendation]:
    for name, seconds in report.instruments.items():
        text = (
            f"the hooks of instrument '{name}' take {seconds / report.seconds:.0%} of "
            "the time, and nothing runs in parallel to them"
        )
        yield seconds, text


def _observers(report: RunFigures) -> Iterator[Recommendation]:
    # Module passes are barriers in any case.
    barriers = report.stages - 1 - len(report.module_passes)
    if report.observers and barriers > 0 and report.in_workers:
        names = ", ".join(f"'{name}'" for name in report.observers)
        workers = (report.waiting + report.idle_at_end) / max(1, report.workers)
        beside = report.looking + workers + _STAGE_SECONDS * report.stages
        text = (
            f"an observing instrument ({names}) makes every pass a barrier, after "
            "which all functions are decoded: set observes_ir = False in its class if "
            "it does not look at the module"
        )
        yield beside * barriers / report.stages, text


def _unsendable(report: RunFigures) -> Iterator[Recommendation]:
    for name, reason in report.unsendable.items():
        yield (
            _saved_by_sharing(report, report.passes.get(name, 0.0)),
            f"pass '{name}' cannot be pickled, so it ran in this process: {reason}",
        )
    left = report.here.get(PlacementReason.UNSENDABLE.value, 0.0)
    if not report.unsendable:
        text = (
            "a function or the rest of its module cannot be pickled, so the run "
            "stayed in this process; the warning names the obstacle"
        )
        yield _saved_by_sharing(report, left), text


def _uncached(report: RunFigures) -> Iterator[Recommendation]:
    if report.cache is None:
        return
    for name, reason in report.cache.uncached.items():
        text = f"results of pass '{name}' are not cached: {reason}"
        yield report.passes.get(name, 0.0) / max(1, report.workers), text


def _no_room(report: RunFigures) -> Iterator[Recommendation]:
    text = (
        "there was no room for files shared with the workers: enlarge /dev/shm, or "
        "set TMPDIR to a folder with room"
    )
    yield (
        _saved_by_sharing(report, report.here.get(PlacementReason.NO_ROOM.value, 0.0)),
        text,
    )


def _no_workers(report: RunFigures) -> Iterator[Recommendation]:
    text = HintedMessage("function passes ran only in this process: ", Hint.EVERY_CORE)
    alone = report.here.get(PlacementReason.NO_WORKERS.value, 0.0)
    shared = max(report.longest_path, alone / 2)
    yield alone - shared - _START_SECONDS, text


def _largest_function(report: RunFigures) -> Iterator[Recommendation]:
    single = report.here.get(PlacementReason.ONE_FUNCTION.value, 0.0)
    several = max(2, report.workers) if report.workers != 1 else 1
    text = HintedMessage(
        "the module has a single function, and parpass never splits a function: cut "
        "it into several, for example by block. If a pass of the pipeline does so, it "
        "says why it did not, ",
        Hint.WITH_REMARKS,
    )
    yield single * (1 - 1 / several), text
    if report.in_workers and report.work:
        share = report.largest_function_seconds / report.work
        text = (
            f"function '{report.largest_function}' holds {share:.0%} of the work, and "
            "parpass never splits a function: cut it into several, for example by "
            "block"
        )
        # It helps less if other functions are the longest in other stages.
        longest = min(report.longest_path, report.largest_function_seconds)
        yield longest - report.work / report.workers, text


def _light_passes(report: RunFigures) -> Iterator[Recommendation]:
    here = sum(report.here.values())
    passes = max(0.0, min(report.work - here, report.busy))
    transfer = report.busy - passes + report.waiting
    if report.in_workers and transfer > passes:
        least = max(report.longest_path, passes / report.workers)
        text = (
            f"the passes take {time_text(passes)}, less than the transfer of the "
            f"functions ({time_text(transfer)}): put more passes in one pipeline, so "
            "that they share the transfer"
        )
        yield min(transfer / report.workers, report.in_workers - least), text


def _start(report: RunFigures) -> Iterator[Recommendation]:
    seconds = report.start_of_workers
    text = HintedMessage(
        f"starting the workers took {time_text(seconds)}: ", Hint.KEEP_WORKERS
    )
    yield seconds, text


_CHECKS: tuple[Callable[[RunFigures], Iterator[Recommendation]], ...] = (
    _behind_serial,
    _few_cores,
    _module_passes,
    _instruments,
    _observers,
    _unsendable,
    _uncached,
    _no_room,
    _no_workers,
    _largest_function,
    _light_passes,
    _start,
)
