"""Rules of a grammar that do not recurse along the text.

A rule is a generator. It reads tokens, yields each rule that is nested in it, and is
sent what that one has read. What it returns is what it has read itself:

    def _while(self, begin: int) -> Rule:
        condition = yield self._condition()
        body = yield self.block()
        return self.made(While, begin, condition, body)

Rules that wait are on a list, so parts may be nested to any depth. What cannot nest is
read by plain methods, which cost less.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

Rule: TypeAlias = "Generator[Rule, Any, Any]"


def run_rule(rule: Rule) -> Any:
    """Return what a rule reads."""
    waiting: list[Rule] = []
    read = None
    while True:
        try:
            inner = rule.send(read)
        except StopIteration as end:
            if not waiting:
                return end.value
            rule, read = waiting.pop(), end.value
        else:
            waiting.append(rule)
            rule, read = inner, None
