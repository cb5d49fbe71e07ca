"""Expressions of IRs with inferred types, and global names, under TVM's names.

`RelayExpr` is the base of Relay's expressions; a `GlobalVar` and a `BaseFunc` occur in
modules of any IR, and are expressions of Relay as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from msgspec import structs

from parpass.diagnostic import Span
from parpass.errors import UntypedError
from parpass.fork_safety import fork_lock
from parpass.ir.attrs import DictAttrs
from parpass.ir.dialect import dialect_of
from parpass.ir.node import Node, count_nodes, reflected
from parpass.ir.types import FuncType, Type

_MAX_DISPLAYED_NODES = 20_000  # of a function, whose text takes a second


class RelayExpr(Node, frozen=True, eq=False):
    """Base of expressions that have a type; Python's operators build calls.

    An expression is pickled like any object, so that values pickled with it stay shared
    with it; the price is that `pickle` recurses, and fails on a very deep one. Modules
    and `save_json` work at any depth.
    """

    namespace: ClassVar[str] = "relay"

    @property
    def checked_type(self) -> Type:
        """The inferred type.

        Raises:
            UntypedError: InferType has not run on this node.
        """
        found: Type | None = getattr(self, "checked_type_", None)
        if found is None:
            raise UntypedError(
                f"this {type(self).__name__} has no checked type yet; run "
                "relay.transform.InferType() on its module first"
            )
        return found

    def astype(self, dtype: str) -> RelayExpr:
        """Return this expression cast to `dtype`."""
        return dialect_of(self).cast(self, dtype)

    def __call__(self, *args: RelayExpr) -> RelayExpr:
        """Return a call of this expression."""
        return dialect_of(self).call(self, args)

    def __neg__(self) -> RelayExpr:
        return dialect_of(self).operator("negative", self)

    def __add__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("add", self, other)

    def __radd__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("add", other, self)

    def __sub__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("subtract", self, other)

    def __rsub__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("subtract", other, self)

    def __mul__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("multiply", self, other)

    def __rmul__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("multiply", other, self)

    def __truediv__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("divide", self, other)

    def __rtruediv__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("divide", other, self)

    def __lt__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("less", self, other)

    def __le__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("less_equal", self, other)

    def __gt__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("greater", self, other)

    def __ge__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("greater_equal", self, other)

    def __bool__(self) -> bool:
        # So that `if expr:` tests for None, also with an empty tuple.
        return True


Operand = RelayExpr | int | float | bool


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


class BaseFunc(RelayExpr, frozen=True, eq=False, weakref=True):
    """Base of the functions of all IRs, which are the members of modules.

    A subclass has the field `attrs`, and the namespace of its IR.

    Attributes:
        may_be_open: Whether a module may hold such a function with free variables.
    """

    may_be_open: ClassVar[bool] = False

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The function's attributes; empty where it has none."""
        return getattr(self, "attrs", None) or {}

    def with_attr(self, key: str, value: Any) -> Self:
        """Return this function with one attribute added or replaced."""
        return self._with({**self.attributes, key: value})

    def without_attr(self, key: str) -> Self:
        """Return this function without one attribute."""
        return self._with({k: v for k, v in self.attributes.items() if k != key})

    def text_for_display(self) -> str:
        """Return the text, or what the function is if that would be very long."""
        nodes = count_nodes(self, _MAX_DISPLAYED_NODES)
        if nodes >= _MAX_DISPLAYED_NODES:
            return f"{self!r}\nmore than {nodes:,} nodes; print(function) shows all"
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        with fork_lock:
            from parpass.notebook_html import preformatted  # in notebooks alone

        return preformatted(self.text_for_display())

    def has_nonzero_attr(self, key: str) -> bool:
        """Return whether the function has an attribute that is not zero or empty."""
        return bool(self.attributes.get(key))

    @property
    def annotated_type(self) -> FuncType | None:
        """The type that the function states; None if it is not stated in full."""
        return None

    def _with(self, attrs: Mapping[str, Any]) -> Self:
        """Return this function with other attributes, without its inferred type."""
        typed = {"checked_type_"} & {*self.__struct_fields__}
        return structs.replace(
            self, attrs=DictAttrs(attrs), **dict.fromkeys(typed, None)
        )


__all__ = ["BaseFunc", "GlobalVar", "Operand", "RelayExpr", "global_var_named"]
