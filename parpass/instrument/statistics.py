"""PassStatisticsInstrument: what passes counted, as a table."""

from __future__ import annotations

from collections import Counter
from typing import Any

from parpass.instrument.protocol import PassInstrument
from parpass.transform import PassContext, PassInfo


class PassStatisticsInstrument(PassInstrument):
    """Shows the counters that passes keep by `PassContext.count`.

    A context adds them up itself, in `PassContext.statistics`; this object adds up
    those of the contexts in which it saw a pass begin, from then on, and is there after
    they were left.
    """

    observes_ir = False

    def __init__(self) -> None:
        self._seen: dict[PassContext, dict[str, Counter[str]]] = {}  # as it was before

    @property
    def totals(self) -> dict[str, Counter[str]]:
        """The counters of each pass by its name, in the order of a serial run."""
        totals: dict[str, Counter[str]] = {}
        for context, before in self._seen.items():
            for name, counters in context.statistics.items():
                old = before.get(name, Counter())
                if counters != old:
                    total = totals.setdefault(name, Counter())
                    total.update(counters)
                    total.subtract(old)
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
        """Take note of the context, and of what had been counted in it before."""
        del mod, info
        context = PassContext.current()
        if context not in self._seen:
            before = {name: Counter(c) for name, c in context.statistics.items()}
            self._seen[context] = before
