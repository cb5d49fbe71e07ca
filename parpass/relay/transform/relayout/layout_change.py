"""Changes of layouts, and what they make of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from parpass.relay.expr import Call
from parpass.relay.op.declaration.layout import Layout


class Change(NamedTuple):
    """A layout and the one that takes its place."""

    old: Layout
    new: Layout

    def axis(self, axis: int) -> int | None:
        """Return where an axis is now; None if it is in blocks."""
        letter = self.old.axes[axis % len(self.old.axes)]
        return None if self.new.block(letter) > 1 else self.new.index(letter)


class Relaid(NamedTuple):
    """How a call is written in other layouts.

    Attributes:
        attrs: Its attributes.
        inputs: Whether each argument is to change its layout, too.
        outputs: Whether each field of its result, or the result, has changed; where
            it has other axes than its argument, the change itself.
    """

    attrs: Any
    inputs: tuple[bool, ...]
    outputs: tuple[bool | Change, ...]


Rule = Callable[[Call, Change], Relaid | None]
