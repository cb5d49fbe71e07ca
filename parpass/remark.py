"""Remarks: what a pass did, what it missed and why, and what it found.

They are optimisation remarks as LLVM has them, in its three kinds. A pass makes one by
`PassContext.remark`; instruments get them by `PassInstrument.on_remark`, in the order
of a serial run. A remark is about the compiler's work, a diagnostic about the program.
"""

from __future__ import annotations

import enum
import math
import numbers
from collections.abc import Mapping

import msgspec

from parpass.diagnostic import Span
from parpass.errors import ArgumentError
from parpass.errors.core import did_you_mean

# What is longer, of a message or a value, is cut: some are printed programs.
MAX_TEXT_CHARS = 2000


class RemarkKind(enum.Enum):
    """The kinds of remarks, which are LLVM's; the values are their names in options."""

    PASSED = "passed"
    MISSED = "missed"
    ANALYSIS = "analysis"


Value = str | int | float | bool | None


class Remark(msgspec.Struct, frozen=True):
    """One remark of a pass on a function; `span` is None if the place is unknown.

    Attributes:
        kind: Whether something was done, was missed, or was found.
        pass_name: The pass that made it, which may run within another.
        function: The function that it is about; None if it is about the module.
        name: What LLVM calls the remark's name: the same for all remarks that say the
            same of different places, such as `NotFused`.
        message: A sentence without a full stop, without what `values` hold.
        span: The place in the program.
        values: What was looked at, by name, in the order of the call.
    """

    kind: RemarkKind
    pass_name: str
    function: str | None
    name: str
    message: str
    span: Span | None = None
    values: Mapping[str, Value] = {}

    @property
    def text(self) -> str:
        """The message, and the values in brackets."""
        if not self.values:
            return self.message
        values = (f"{name}={value}" for name, value in self.values.items())
        return f"{self.message} ({', '.join(values)})"


def remark_kind(kind: object) -> RemarkKind:
    """Return the kind that a value stands for.

    Raises:
        ArgumentError: There is none of that name.
    """
    try:
        return RemarkKind(kind)
    except ValueError:
        kinds = [one.value for one in RemarkKind]
        near = did_you_mean(kind, kinds) if isinstance(kind, str) else ""
        raise ArgumentError(
            f"expected 'passed', 'missed' or 'analysis' for the kind of a remark, got "
            f"{kind!r}{near}"
        ) from None


def plain_value(value: object) -> Value:
    """Return a value as remarks hold it, so that any process and format can.

    Numbers, truth values, None and strings stay what they are, and numbers of other
    types become Python's; everything else, NaN and infinities too, is its text.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    return bounded_text(value)


def bounded_text(value: object) -> str:
    """Return the text of a value, cut at `MAX_TEXT_CHARS`, which the text then says.

    A value whose `str` raises is shown as its type.
    """
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 -- a remark is no reason for a pass to fail
        return f"<{type(value).__name__}>"
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]}... (cut, of {len(text)} characters)"
