"""Instruments that measure passes: time as a tree, and what passes counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from parpass.instrument.protocol import PassInstrument
from parpass.transform import PassContext, PassInfo
from parpass.transform.instrument_hooks import now

_Key = TypeVar("_Key", str, tuple[str, str])
# Counters by pass, and by pass and function.
_ByPass = dict[str, Counter[str]]
_ByBoth = dict[tuple[str, str], Counter[str]]


class PassStatisticsInstrument(PassInstrument):
    """Shows the counters that passes keep with `PassContext.count`.

    Each context adds them up in `PassContext.statistics`. This object adds up several
    contexts, each from the first pass that it sees begin there, and stays available
    after they end.

    Args:
        by_function: Whether to keep counters by function, too.
    """

    observes_ir = False

    def __init__(self, *, by_function: bool = False) -> None:
        # As they were before: counters by pass, and by pass and function.
        self._seen: dict[PassContext, tuple[_ByPass, _ByBoth]] = {}
        self._by_function = by_function

    @property
    def totals(self) -> dict[str, Counter[str]]:
        """The counters of each pass by pass name, in the order of a serial run."""
        totals: _ByPass = {}
        for context, (before, _) in self._seen.items():
            _add(totals, counted_since(context.statistics, before))
        return totals

    @property
    def function_totals(self) -> dict[tuple[str, str], Counter[str]]:
        """The counters of each pass on each function, by both names."""
        totals: _ByBoth = {}
        for context, (_, before) in self._seen.items():
            if self._by_function:
                _add(totals, counted_since(_by_both_names(context), before))
        return totals

    def render(self) -> str:
        """Return the totals as text, a line for each pass and counter."""
        if not self.totals:
            return "No pass counted anything.\n"
        rows = [("pass", "counter", "total")]
        for name, counters in self.totals.items():
            rows += [(name, counter, str(total)) for counter, total in counters.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "".join(
            f"{name:<{widths[0]}}  {counter:<{widths[1]}}  {total:>{widths[2]}}\n"
            for name, counter, total in rows
        )

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Register the context, and the counts that it had before."""
        del mod, info
        context = PassContext.current()
        if context not in self._seen:
            if self._by_function:
                context.keep_function_statistics()
            both = _by_both_names(context)
            self._seen[context] = copied(context.statistics), copied(both)


def counted_since(
    now: Mapping[_Key, Counter[str]], before: Mapping[_Key, Counter[str]]
) -> dict[_Key, dict[str, int]]:
    """Return the counters that have changed, by key, less their former amounts."""
    found: dict[_Key, dict[str, int]] = {}
    for key, counters in now.items():
        old = before.get(key, Counter())
        counts = {one: n - old[one] for one, n in counters.items() if n != old[one]}
        if counts:
            found[key] = counts
    return found


def copied(statistics: Mapping[_Key, Counter[str]]) -> dict[_Key, Counter[str]]:
    return {key: Counter(counters) for key, counters in statistics.items()}


def _add(totals: dict[_Key, Counter[str]], more: Mapping[_Key, dict[str, int]]) -> None:
    for key, counters in more.items():
        totals.setdefault(key, Counter()).update(counters)


def _by_both_names(context: PassContext) -> _ByBoth:
    return {
        (name, function): counters
        for name, functions in (context.function_statistics or {}).items()
        for function, counters in functions.items()
    }


class PassProfile(msgspec.Struct, frozen=True):
    """One pass that ran, and the passes nested in it.

    Attributes:
        name: The name of the pass.
        seconds: Its time, nested passes included.
        children: The nested passes, in the order in which they began.
    """

    name: str
    seconds: float
    children: tuple[PassProfile, ...] = ()

    @property
    def self_seconds(self) -> float:
        """The time of the pass without nested passes, in seconds."""
        return self.seconds - sum(child.seconds for child in self.children)


@dataclass(slots=True)
class _Timer:
    """A pass as it is being timed; without an end it is still running."""

    info: PassInfo
    began: float
    ended: float | None = None
    children: list[_Timer] = field(default_factory=list["_Timer"])

    def profile(self) -> PassProfile:
        ended = now() if self.ended is None else self.ended
        children = tuple(child.profile() for child in self.children)
        return PassProfile(self.info.name, ended - self.began, children)


class PassTimingInstrument(PassInstrument):
    """Times every pass.

    The measurements belong to this object: they stay available after the context ends,
    and include failed passes. Use it for one run at a time; consecutive runs add up.
    """

    observes_ir = False

    def __init__(self) -> None:
        self._outermost: list[_Timer] = []
        self._running: list[_Timer] = []
        self._running_at_enter: list[int] = []

    @property
    def profiles(self) -> tuple[PassProfile, ...]:
        """The outermost passes, in order; a running pass has its time so far."""
        return tuple(timer.profile() for timer in self._outermost)

    def render(self) -> str:
        """Return the profile as text, a line for each pass, indented by tabs.

        A line is `NAME: TOTALus [SELFus] (x%; y%)`: the time with and without nested
        passes, the share of the total, and the share of the enclosing pass.
        """
        profiles = self.profiles
        whole = sum(profile.seconds for profile in profiles)
        return "".join(_lines(profiles, whole, whole))

    def enter_pass_ctx(self) -> None:
        """Record which passes are running around the context."""
        self._running_at_enter.append(len(self._running))

    def exit_pass_ctx(self) -> None:
        """End the passes that are still running.

        Passes that were cancelled are not reported in any other way.
        """
        # An instrument of the default context is left without having been entered.
        self._stop(self._running_at_enter.pop() if self._running_at_enter else 0)

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Start timing a pass."""
        del mod
        timer = _Timer(info, now())
        siblings = self._running[-1].children if self._running else self._outermost
        siblings.append(timer)
        self._running.append(timer)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Record the time of a pass."""
        del mod
        for depth in reversed(range(len(self._running))):
            if self._running[depth].info is info:
                self._stop(depth)
                return

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        """Record the time of a pass until it failed."""
        del error
        self.run_after_pass(mod, info)

    def _stop(self, depth: int) -> None:
        """End the innermost timers, down to a depth."""
        for timer in self._running[depth:]:
            timer.ended = now()
        del self._running[depth:]


def _lines(
    profiles: Sequence[PassProfile], whole: float, around: float, depth: int = 0
) -> Iterator[str]:
    indent = "\t" * depth
    for profile in profiles:
        yield (
            f"{indent}{profile.name}: {profile.seconds * 1e6:.0f}us "
            f"[{profile.self_seconds * 1e6:.0f}us] "
            f"({_percent(profile.seconds, whole)}; "
            f"{_percent(profile.seconds, around)})\n"
        )
        yield from _lines(profile.children, whole, profile.seconds, depth + 1)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole else 0:.2f}%"
