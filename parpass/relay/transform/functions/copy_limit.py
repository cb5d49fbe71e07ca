"""How much a pass may copy that puts functions in the place of their calls.

Functions that call each other twice, level by level, double in size with each level:
two kilobytes of program would become more than any memory holds.
"""

from __future__ import annotations

from parpass.errors import SizeLimitError
from parpass.ir.node import breadth_first
from parpass.relay.expr import Function
from parpass.transform import PassContext

_OPTION = "relay.max_copied_nodes"
_DEFAULT = 1_000_000  # about ten seconds, and half a gigabyte


def max_copied_nodes(ctx: PassContext) -> int:
    """Return how many nodes one run of a pass may put in the place of calls."""
    limit: int = ctx.config.get(_OPTION, _DEFAULT)
    return limit


class CopyLimit:
    """Counts the nodes that one run of a pass copies, second copies and further ones.

    With first copies alone, a program is no larger than it was.

    Args:
        ctx: Has the limit, in option `relay.max_copied_nodes`.
    """

    def __init__(self, ctx: PassContext | None = None) -> None:
        self._limit = max_copied_nodes(ctx or PassContext.current())
        self._copied = 0
        self._sizes: dict[Function, int] = {}

    def take(self, function: Function, name: str | None) -> None:
        """Take down that the body of a function is copied.

        Raises:
            SizeLimitError: It would be more than the limit.
        """
        if function not in self._sizes:
            self._sizes[function] = len(breadth_first(function.body))
            return
        self._copied += self._sizes[function]
        if self._copied > self._limit:
            what = f"function '{name}'" if name is not None else "a closure"
            raise SizeLimitError(
                f"expected at most {self._limit} nodes in the place of calls, got "
                f"{self._copied} with {what}; functions that call each other twice "
                "double in size with each level: keep some of them as functions, or "
                f"set option '{_OPTION}'"
            )
