"""The differences between two profiles: times, memory, and counters of passes.

Times, and memory, of repeated runs are compared by their medians. A change is within
the noise if the intervals overlap in which the medians are likely to be: 1.57 times the
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
from parpass.report.figures import time_text
from parpass.report.profile import Counts, Profile, RunProfile

MIN_RUNS = 3  # of both sides, for the noise to be known
_NOTCH = 1.57


class ChangeKind(enum.StrEnum):
    """The kind of a change of a time, or of memory."""

    SLOWER = "slower"
    FASTER = "faster"
    MORE = "more"
    LESS = "less"
    NOISE = "within the noise"
    SAME = "same"
    ONLY_BEFORE = "only before"
    ONLY_AFTER = "only after"


_Kinds = tuple[ChangeKind, ChangeKind]  # of an increase, and of a decrease
_OF_TIME: _Kinds = (ChangeKind.SLOWER, ChangeKind.FASTER)
_OF_MEMORY: _Kinds = (ChangeKind.MORE, ChangeKind.LESS)


class Change(msgspec.Struct, frozen=True):
    """A time, or the memory of a pass, before and after.

    Attributes:
        name: That of the pass or function; of the whole run, `run`.
        before: The median of the seconds, or bytes, before; None if it is not there.
        after: Likewise.
        noise: What a change must exceed; None if that is not known, for want of runs.
        verdict: The kind of the change.
    """

    name: str
    before: float | None
    after: float | None
    noise: float | None
    verdict: ChangeKind

    @property
    def difference(self) -> float:
        """The change in seconds, or bytes; what is not there has taken none."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def percent(self) -> float | None:
        """The change in percent of that before; None where it took none."""
        return self.difference / self.before * 100 if self.before else None


def amounts(change: Change, text: Callable[[float], str]) -> list[str]:
    """Return a change as words: its name, before, after, change, noise, percent, kind.

    `text` writes an amount.
    """
    before, after = (
        "" if one is None else text(one) for one in (change.before, change.after)
    )
    sign = "-" if change.difference < 0 else "+"
    is_one_sided = change.before is None or change.after is None
    percent = None if is_one_sided else change.percent
    return [
        change.name,
        before,
        after,
        f"{sign}{text(abs(change.difference))}",
        "" if change.noise is None else text(change.noise),
        "" if percent is None else f"{percent:+.1f}%",
        str(change.verdict),
    ]


def seconds_text(seconds: float) -> str:
    return time_text(seconds) if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


class CountChange(msgspec.Struct, frozen=True):
    """A counter that differs; `function` is None for the sum over all."""

    pass_name: str = msgspec.field(name="pass")
    function: str | None
    counter: str
    before: int
    after: int


class Comparison(msgspec.Struct, frozen=True):
    """The differences between two profiles; the largest changes come first.

    Attributes:
        memory: The memory of each pass, if both profiles have it.
        counters: The counters that differ, by pass and by function.
        notes: Other differences, and runs that were left out, as sentences.
    """

    runs_before: int
    runs_after: int
    run: Change
    passes: list[Change]
    functions: list[Change]
    memory: list[Change]
    counters: list[CountChange]
    notes: list[str]

    @property
    def is_noise_known(self) -> bool:
        """Whether there are runs enough on both sides."""
        return self.run.noise is not None

    def slower_than(self, percent: float) -> list[Change]:
        """Return the run, and passes, that became slower by more than a percentage."""
        return [
            one
            for one in (self.run, *self.passes)
            if one.verdict is ChangeKind.SLOWER and (one.percent or math.inf) > percent
        ]


def compare_profiles(
    before: Profile, after: Profile, names: tuple[str, str]
) -> Comparison:
    """Return the differences between two profiles; `names` are for errors and notes.

    Raises:
        ArgumentError: All runs of one failed, or there are none.
    """
    notes = list(_notes(before, after, names))
    old, new = _usable(before, names[0]), _usable(after, names[1])

    def changes(
        of: Callable[[RunProfile], Mapping[str, float]], kinds: _Kinds = _OF_TIME
    ) -> list[Change]:
        return _changes([of(one) for one in old], [of(one) for one in new], kinds)

    (run,) = changes(lambda one: {"run": one.seconds})
    memory: list[Change] = []
    if _has_memory(old) and _has_memory(new):
        memory = changes(_memory_of, _OF_MEMORY)
    return Comparison(
        runs_before=len(old),
        runs_after=len(new),
        run=run,
        passes=changes(lambda one: one.passes),
        functions=changes(lambda one: one.functions),
        memory=memory,
        counters=_count_changes(old[0], new[0]),
        notes=notes,
    )


def _has_memory(runs: Sequence[RunProfile]) -> bool:
    return any(one.memory is not None for one in runs)


def _memory_of(run: RunProfile) -> Mapping[str, float]:
    return {} if run.memory is None else run.memory.passes


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
    measured = [_has_memory(profile.runs) for profile in (before, after)]
    if measured[0] != measured[1]:
        where = names[measured.index(True)]
        yield f"memory was measured for '{where}' alone, which makes passes slower"


def _jobs(profile: Profile) -> str:
    return "one per core" if profile.jobs is None else str(profile.jobs)


def _changes(
    before: Sequence[Mapping[str, float]],
    after: Sequence[Mapping[str, float]],
    kinds: _Kinds,
) -> list[Change]:
    names = dict.fromkeys(name for amounts in (*before, *after) for name in amounts)
    found = [
        _change(name, _amounts_of(name, before), _amounts_of(name, after), kinds)
        for name in names
    ]
    return sorted(found, key=lambda one: -abs(one.difference))


def _amounts_of(name: str, runs: Sequence[Mapping[str, float]]) -> list[float]:
    """Return the time, or memory, in each run; an empty list if it is in none."""
    if not any(name in amounts for amounts in runs):
        return []
    return [amounts.get(name, 0.0) for amounts in runs]


def _change(
    name: str, before: list[float], after: list[float], kinds: _Kinds
) -> Change:
    if not before:
        return Change(name, None, median(after), None, ChangeKind.ONLY_AFTER)
    if not after:
        return Change(name, median(before), None, None, ChangeKind.ONLY_BEFORE)
    old, new = median(before), median(after)
    noise = None
    if min(len(before), len(after)) >= MIN_RUNS:
        noise = _notch(before) + _notch(after)
    if new == old:
        verdict = ChangeKind.SAME
    elif noise is not None and abs(new - old) <= noise:
        verdict = ChangeKind.NOISE
    else:
        verdict = kinds[0] if new > old else kinds[1]
    return Change(name, old, new, noise, verdict)


def _notch(amounts: Sequence[float]) -> float:
    """Return how far to each side of their median that of more runs is likely to be."""
    low, _, high = quantiles(amounts, n=4, method="inclusive")
    return _NOTCH * (high - low) / math.sqrt(len(amounts))


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
