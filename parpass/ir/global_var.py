"""The names of functions, in modules of any IR; each is an expression of Relay, too."""

from __future__ import annotations

from typing import Any

from parpass.diagnostic import Span
from parpass.ir.node import reflected
from parpass.ir.relay_expr import RelayExpr
from parpass.ir.types import Type


@reflected(is_graph=False)
class GlobalVar(RelayExpr, frozen=True, eq=False, gc=False):
    """The name of a function of a module."""

    name_hint: str
    span: Span | None = None
    checked_type_: Type | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return global_var_named, (self.name_hint,)


def global_var_named(name: str) -> GlobalVar:
    """Return a new global variable; a decoder substitutes its module's variable."""
    return GlobalVar(name)


__all__ = ["GlobalVar", "global_var_named"]
