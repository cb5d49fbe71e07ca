"""Bisection: the pairs of a pass and a function are numbered, and some of them run.

It is LLVM's `-opt-bisect-limit`, for functions. The pairs of a run are numbered from 1
in serial order: pass by pass, and within a pass in module order; a module pass is one
number. A number is known before anything runs, so it does not depend on the number of
workers. Required and restoring passes are not numbered, and always run.

Passes that a pass runs in its own body are part of that pass.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from parpass.errors import ConfigValueError
from parpass.transform.config import register_config_option
from parpass.transform.context import PassContext
from parpass.transform.passes import FunctionPass, FunctionwisePass, Pass

OPT_BISECT = register_config_option(
    "parpass.opt_bisect",
    str,
    "run only the pairs of pass and function with these numbers, such as '1-9,21-'",
).key

OPT_BISECT_LIMIT = register_config_option(
    "parpass.opt_bisect_limit",
    int,
    "run only the first N pairs of pass and function; -1 runs all and shows numbers",
).key

_RANGE = re.compile(r"(\d+)(?:(-)(\d*))?")

Ranges = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class BisectVerdict:
    """The decision whether a pass runs on a function, which is None for a module pass.

    `str()` is LLVM's line for it.
    """

    number: int
    pass_name: str
    function: str | None
    runs: bool

    def __str__(self) -> str:
        target = "module" if self.function is None else f"function ({self.function})"
        running = "running" if self.runs else "NOT running"
        return f"BISECT: {running} pass ({self.number}) {self.pass_name} on {target}"


def _write(verdicts: Sequence[BisectVerdict]) -> None:
    sys.stderr.write("".join(f"{verdict}\n" for verdict in verdicts))


# Called with verdicts, before their pass runs.
listener: ContextVar[Callable[[Sequence[BisectVerdict]], None]] = ContextVar(
    "parpass_bisect_listener", default=_write
)


def report(verdicts: Sequence[BisectVerdict]) -> None:
    listener.get()(verdicts)


class Gate:
    """Numbers the pairs of one run, in order, and decides which of them run."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._last = 0

    @classmethod
    def of(cls, context: PassContext) -> Gate | None:
        """Return the gate for the options of a context; None if it sets none.

        Raises:
            ConfigValueError: The option has no ranges, or there are two of them.
        """
        text = context.config.get(OPT_BISECT)
        limit = context.config.get(OPT_BISECT_LIMIT)
        if text is not None and limit is not None:
            raise ConfigValueError(
                f"options '{OPT_BISECT}' and '{OPT_BISECT_LIMIT}' exclude each other",
                key=OPT_BISECT,
            )
        if limit is not None:
            return cls([(1, float("inf") if limit < 0 else limit)])
        return None if text is None else cls(parse_ranges(text))

    def on_functions(
        self, pass_: Pass, names: Sequence[str]
    ) -> tuple[Pass, list[BisectVerdict]]:
        """Return the pass, limited to the functions it runs on, and all verdicts."""
        verdicts = [self._verdict(pass_, name) for name in names]
        chosen = frozenset(one.function or "" for one in verdicts if one.runs)
        if len(chosen) == len(names):
            return pass_, verdicts
        kind = (
            _FilteredFunctionPass
            if isinstance(pass_, FunctionPass)
            else _FilteredFunctionwisePass
        )
        return kind(pass_, chosen), verdicts

    def on_module(self, pass_: Pass) -> BisectVerdict:
        return self._verdict(pass_, None)

    def _verdict(self, pass_: Pass, function: str | None) -> BisectVerdict:
        self._last += 1
        number = self._last
        runs = any(first <= number <= last for first, last in self._ranges)
        return BisectVerdict(number, pass_.info.name, function, runs)


def parse_ranges(text: str) -> Ranges:
    """Return the bounds of ranges such as `1-9,12,21-`.

    Raises:
        ConfigValueError: The text has another form.
    """
    ranges: list[tuple[int, float]] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first = int(found[1]) if found else 0
        last = float(found[3] or "inf") if found and found[2] else float(first)
        if found is None or last < first:
            raise ConfigValueError(
                f"invalid config value for '{OPT_BISECT}': expected ranges such as "
                f"'1-9,12,21-', got '{part}' in '{text}'",
                key=OPT_BISECT,
            )
        ranges.append((first, last))
    return ranges


class _Filtered(Pass):
    """A pass that changes only some functions.

    The pass is in the attribute in which decorated passes keep their instance, so that
    changes of its attributes are detected.
    """

    def __init__(self, inner: Pass, names: frozenset[str]) -> None:
        self.pass_info = inner.info
        self.function_kind = inner.function_kind
        self._inst = inner
        self._names = names

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        if ctx.function_name not in self._names:
            return func
        inner = cast("FunctionPass | FunctionwisePass", self._inst)
        return inner.transform_function(func, mod, ctx)


class _FilteredFunctionPass(_Filtered, FunctionPass):
    pass


class _FilteredFunctionwisePass(_Filtered, FunctionwisePass):
    pass
