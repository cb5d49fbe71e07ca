"""The names of functions in a text: each is one global variable, wherever it stands."""

from __future__ import annotations

from collections.abc import Collection

from parpass.diagnostic import Span
from parpass.ir.relay_expr import GlobalVar
from parpass.ir.text.problems import Problems


class GlobalNames:
    """Keeps the global variables of a text, which functions of all kinds may use."""

    def __init__(self) -> None:
        self._vars: dict[str, GlobalVar] = {}
        self._uses: dict[str, tuple[str, Span]] = {}

    def named(self, name: str, place: Span) -> GlobalVar:
        """Return the global variable of a name, the same one each time."""
        found = self._vars.get(name)
        if found is None:
            found = self._vars[name] = GlobalVar(name, place)
        return found

    def used(self, name: str, token: str, place: Span) -> GlobalVar:
        """Return what a token refers to that names a function, here or further down."""
        self._uses.setdefault(name, (token, place))
        return self.named(name, place)

    def check_uses(self, defined: Collection[str], problems: Problems) -> None:
        """Report the uses of functions that are not defined."""
        for name, (token, place) in self._uses.items():
            if name not in defined:
                known = (f"@{known}" for known in defined)
                problems.report_unknown(place, "function named", token, known)
