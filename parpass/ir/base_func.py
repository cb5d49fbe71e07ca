"""The base of the functions of all IRs; each is an expression of Relay, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from msgspec import structs

from parpass.ir.attrs import DictAttrs
from parpass.ir.node import count_nodes
from parpass.ir.relay_expr import RelayExpr
from parpass.ir.types import FuncType

_MAX_DISPLAYED_NODES = 20_000  # of a function, whose text takes a second


class BaseFunc(RelayExpr, frozen=True, eq=False, weakref=True):
    """The base of the functions of all IRs; modules contain them.

    A subclass has the field `attrs`, and the namespace of its IR.

    Attributes:
        may_be_open: Whether a module may contain such a function with free variables.
    """

    may_be_open: ClassVar[bool] = False

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The function's attributes; empty if it has none."""
        return getattr(self, "attrs", None) or {}

    def with_attr(self, key: str, value: Any) -> Self:
        """Return this function with one attribute added or replaced."""
        return self._with({**self.attributes, key: value})

    def without_attr(self, key: str) -> Self:
        """Return this function without one attribute."""
        return self._with({k: v for k, v in self.attributes.items() if k != key})

    def text_for_display(self) -> str:
        """Return the text, or a description if the text would be very long."""
        nodes = count_nodes(self, _MAX_DISPLAYED_NODES)
        if nodes >= _MAX_DISPLAYED_NODES:
            return f"{self!r}\nmore than {nodes:,} nodes; print(function) shows all"
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        from parpass.notebook_html import preformatted  # in notebooks alone

        return preformatted(self.text_for_display())

    def has_nonzero_attr(self, key: str) -> bool:
        """Return whether the function has an attribute that is not zero or empty."""
        return bool(self.attributes.get(key))

    @property
    def annotated_type(self) -> FuncType | None:
        """The type that the function declares; None if it is incomplete."""
        return None

    def _with(self, attrs: Mapping[str, Any]) -> Self:
        """Return this function with other attributes, without its inferred type."""
        typed = {"checked_type_"} & {*self.__struct_fields__}
        return structs.replace(
            self, attrs=DictAttrs(attrs), **dict.fromkeys(typed, None)
        )


__all__ = ["BaseFunc"]
