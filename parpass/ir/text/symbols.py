"""Symbol tables of a parser: local names by scope, and global function names.

A global name has one global variable, wherever it is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from parpass.diagnostic import Span
from parpass.ir.global_var import GlobalVar
from parpass.ir.text.error_list import ErrorList


class SymbolTable:
    """The meanings of local names such as `%x`, `%0`, `i`, with nested scopes.

    Entering and leaving a scope cost no more than its bindings, so nesting is
    unlimited.

    Attributes:
        meanings: The meaning of each visible name, in order of the first binding.
            Entries that were not bound, such as `add` and `@main`, are valid
            everywhere.
    """

    def __init__(self) -> None:
        self.meanings: dict[str, Any] = {}
        self._before: list[tuple[str, Any]] = []
        self._opened: list[int] = []

    def push_scope(self) -> None:
        """Enter a scope."""
        self._opened.append(len(self._before))

    def pop_scope(self) -> None:
        """Leave the innermost scope."""
        start = self._opened.pop()
        for name, meaning in reversed(self._before[start:]):
            if meaning is None:
                del self.meanings[name]
            else:
                self.meanings[name] = meaning
        del self._before[start:]

    def pop_all_scopes(self) -> None:
        """Leave all scopes."""
        while self._opened:
            self.pop_scope()

    def bind(self, name: str, meaning: Any) -> None:
        """Bind a name until the innermost scope is left."""
        self._before.append((name, self.meanings.get(name)))
        self.meanings[name] = meaning


class GlobalSymbols:
    """The global variables of a text, shared by functions of all kinds."""

    def __init__(self) -> None:
        self._vars: dict[str, GlobalVar] = {}
        self._uses: dict[str, tuple[str, Span]] = {}

    def declare(self, functions: Mapping[str, GlobalVar]) -> None:
        """Enter existing global variables under their names."""
        self._vars.update(functions)

    def lookup(self, name: str, place: Span) -> GlobalVar:
        """Return the global variable of a name, created at the first call."""
        found = self._vars.get(name)
        if found is None:
            found = self._vars[name] = GlobalVar(name, place)
        return found

    def use(self, name: str, token: str, place: Span) -> GlobalVar:
        """Return the function that a token refers to, defined here or further down."""
        self._uses.setdefault(name, (token, place))
        return self.lookup(name, place)

    def check_uses(self, defined: Collection[str], problems: ErrorList) -> None:
        """Report uses of functions that are not defined."""
        for name, (token, place) in self._uses.items():
            if name not in defined:
                known = (f"@{known}" for known in defined)
                problems.report_unknown(place, "function named", token, known)
