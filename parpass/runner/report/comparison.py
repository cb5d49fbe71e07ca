"""The differences between two profiles: times, and counters of passes.

Times of repeated runs are compared by their medians. A change is within the noise if
the intervals overlap in which the medians are likely to be: 1.57 times the
interquartile range over the square root of the number of runs, to both sides, as the
notches of a box plot show it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median, quantiles

import msgspec

from parpass.errors import ArgumentError
from parpass.runner.report.profile import Counts, Profile, RunProfile

MIN_RUNS = 3  # of both sides, for the noise to be known
_NOTCH = 1.57


class Verdict(enum.StrEnum):
    """The kind of a change of a time."""

    SLOWER = "slower"
    FASTER = "faster"
    NOISE = "within the noise"
    SAME = "same"
    ONLY_BEFORE = "only before"
    ONLY_AFTER = "only after"


class TimeChange(msgspec.Struct, frozen=True):
    """The time of a run, a pass or a function, before and after.

    Attributes:
        name: The name; of the whole run, `run`.
        before: The median of the seconds before; None if it is not there.
        after: Likewise.
        noise: The seconds that a change must exceed; None if that is not known, for
            want of runs.
        verdict: The kind of the change.
    """

    name: str
    before: float | None
    after: float | None
    noise: float | None
    verdict: Verdict

    @property
    def seconds(self) -> float:
        """The change in seconds; what is not there has taken none."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def percent(self) -> float | None:
        """The change in percent of the time before; None where it took none."""
        return self.seconds / self.before * 100 if self.before else None


class CountChange(msgspec.Struct, frozen=True):
    """A counter that differs.

    Attributes:
        pass_name: The name of the pass.
        function: The name of the function; None for the sum over all.
        counter: The name of the counter.
        before: The amount before, 0 if nothing was counted.
        after: Likewise.
    """

    pass_name: str = msgspec.field(name="pass")
    function: str | None
    counter: str
    before: int
    after: int


class Comparison(msgspec.Struct, frozen=True):
    """The differences between two profiles; the largest changes come first.

    Attributes:
        runs_before: The number of runs before that are compared.
        runs_after: Likewise.
        run: The whole run.
        passes: Each pass.
        functions: Each function.
        counters: The counters that differ, by pass and by function.
        notes: Other differences, and runs that were left out, as sentences.
    """

    runs_before: int
    runs_after: int
    run: TimeChange
    passes: list[TimeChange]
    functions: list[TimeChange]
    counters: list[CountChange]
    notes: list[str]

    @property
    def is_noise_known(self) -> bool:
        """Whether there are runs enough on both sides."""
        return self.run.noise is not None

    def slower_than(self, percent: float) -> list[TimeChange]:
        """Return the run, and passes, that became slower by more than a percentage."""
        return [
            one
            for one in (self.run, *self.passes)
            if one.verdict is Verdict.SLOWER and (one.percent or math.inf) > percent
        ]


def compare_profiles(
    before: Profile, after: Profile, names: tuple[str, str]
) -> Comparison:
    """Return the differences between two profiles.

    Args:
        before: The profile of the past.
        after: The profile that is compared with it.
        names: Their names, for errors and notes.

    Raises:
        ArgumentError: All runs of one failed, or there are none.
    """
    notes = list(_notes(before, after, names))
    old, new = _usable(before, names[0]), _usable(after, names[1])

    def changes(of: Callable[[RunProfile], Mapping[str, float]]) -> list[TimeChange]:
        return _time_changes([of(one) for one in old], [of(one) for one in new])

    (run,) = changes(lambda one: {"run": one.seconds})
    return Comparison(
        runs_before=len(old),
        runs_after=len(new),
        run=run,
        passes=changes(lambda one: one.passes),
        functions=changes(lambda one: one.functions),
        counters=_count_changes(old[0], new[0]),
        notes=notes,
    )


def _usable(profile: Profile, name: str) -> list[RunProfile]:
    found = [one for one in profile.runs if one.failure is None]
    if not found:
        why = f": {profile.runs[0].failure}" if profile.runs else ""
        raise ArgumentError(f"no run of '{name}' succeeded{why}")
    return found


def _notes(before: Profile, after: Profile, names: tuple[str, str]) -> Iterator[str]:
    for profile, name in zip((before, after), names, strict=True):
        failed = sum(one.failure is not None for one in profile.runs)
        if failed:
            runs = (
                "1 run that failed is" if failed == 1 else f"{failed} that failed are"
            )
            yield f"of '{name}', {runs} left out"
    for what, old, new in (
        ("pipelines", before.pipeline, after.pipeline),
        ("versions of parpass", before.parpass, after.parpass),
        ("numbers of jobs", _jobs(before), _jobs(after)),
    ):
        if old != new:
            yield f"the {what} differ: {old or '(none)'}, then {new or '(none)'}"


def _jobs(profile: Profile) -> str:
    return "one per core" if profile.jobs is None else str(profile.jobs)


def _time_changes(
    before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]
) -> list[TimeChange]:
    """Return the changes of all names, the largest first."""
    names = dict.fromkeys(name for times in (*before, *after) for name in times)
    found = [
        _time_change(name, _times_of(name, before), _times_of(name, after))
        for name in names
    ]
    return sorted(found, key=lambda one: -abs(one.seconds))


def _times_of(name: str, runs: Sequence[Mapping[str, float]]) -> list[float]:
    """Return a time of each run; an empty list if it is in none."""
    if not any(name in times for times in runs):
        return []
    return [times.get(name, 0.0) for times in runs]


def _time_change(name: str, before: list[float], after: list[float]) -> TimeChange:
    if not before:
        return TimeChange(name, None, median(after), None, Verdict.ONLY_AFTER)
    if not after:
        return TimeChange(name, median(before), None, None, Verdict.ONLY_BEFORE)
    old, new = median(before), median(after)
    noise = None
    if min(len(before), len(after)) >= MIN_RUNS:
        noise = _notch(before) + _notch(after)
    if new == old:
        verdict = Verdict.SAME
    elif noise is not None and abs(new - old) <= noise:
        verdict = Verdict.NOISE
    else:
        verdict = Verdict.SLOWER if new > old else Verdict.FASTER
    return TimeChange(name, old, new, noise, verdict)


def _notch(times: Sequence[float]) -> float:
    """Return how far to each side of their median that of more runs is likely to be."""
    low, _, high = quantiles(times, n=4, method="inclusive")
    return _NOTCH * (high - low) / math.sqrt(len(times))


def _count_changes(before: RunProfile, after: RunProfile) -> list[CountChange]:
    """Return the counters that differ, by pass, each with its functions after it."""
    found: list[CountChange] = []
    for name in dict.fromkeys((*before.statistics, *after.statistics)):
        old, new = before.statistics.get(name, {}), after.statistics.get(name, {})
        found += _differing(name, None, old, new)
        olds = before.function_statistics.get(name, {})
        news = after.function_statistics.get(name, {})
        for function in dict.fromkeys((*olds, *news)):
            pair = olds.get(function, {}), news.get(function, {})
            found += _differing(name, function, *pair)
    return found


def _differing(
    pass_name: str, function: str | None, old: Counts, new: Counts
) -> Iterator[CountChange]:
    for counter in dict.fromkeys((*old, *new)):
        amounts = old.get(counter, 0), new.get(counter, 0)
        if amounts[0] != amounts[1]:
            yield CountChange(pass_name, function, counter, *amounts)
