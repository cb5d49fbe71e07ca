"""Casts between precisions, which are not made twice, nor there and back."""

from __future__ import annotations

from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleGetItem
from parpass.relay.typing.built import BuiltTypes
from parpass.runtime.dtypes import is_float_dtype


class Casts:
    """Casts values of floats, and tuples of such, and knows the types of what is built.

    Attributes:
        types: Those of new expressions.
    """

    def __init__(self) -> None:
        self.types = BuiltTypes()
        self._made: dict[tuple[Expr, str], Expr] = {}

    def cast(self, value: Expr, dtype: str) -> Expr:
        """Return a value, its floats in a dtype."""
        return self._cast(value, self.types.type_of(value), dtype)

    def tensors(self, value: Expr) -> list[TensorType]:
        """Return the types of the tensors that a value is, or is made of."""
        return _tensors(self.types.type_of(value))

    def typed(self, old: Expr, new: Expr) -> Expr:
        """Return a new value, which is of the type that the old one had."""
        self.types.known[new] = old.checked_type
        return new

    def as_before(self, old: Expr, new: Expr) -> Expr:
        """Return a new value in the dtypes that the old one had."""
        if new is old:
            return new
        wanted, found = old.checked_type, self.types.get(new)
        return (
            new if found is None or found == wanted else self._like(new, found, wanted)
        )

    def _like(self, value: Expr, found: Type, wanted: Type) -> Expr:
        if isinstance(found, TupleType) and isinstance(wanted, TupleType):
            pairs = zip(found.fields, wanted.fields, strict=True)
            return Tuple(
                tuple(
                    self._like(_field(value, at), one, other)
                    for at, (one, other) in enumerate(pairs)
                )
            )
        if isinstance(wanted, TensorType):
            return self._cast(value, found, wanted.dtype)
        return value

    def _cast(self, value: Expr, found: Type, dtype: str) -> Expr:
        """Return a value of floats in a dtype; what was cast from that, as it was."""
        if isinstance(found, TupleType):
            fields = [_field(value, at) for at in range(len(found.fields))]
            pairs = zip(fields, found.fields, strict=True)
            new = [self._cast(field, typ, dtype) for field, typ in pairs]
            return value if new == fields else Tuple(tuple(new))
        if not isinstance(found, TensorType) or found.dtype == dtype:
            return value
        if not is_float_dtype(found.dtype):
            return value
        if (value, dtype) not in self._made:
            made = op.cast(value, dtype)
            self._made[value, dtype] = made
            self._made[made, found.dtype] = value
        return self._made[value, dtype]


def _field(value: Expr, at: int) -> Expr:
    return value.fields[at] if isinstance(value, Tuple) else TupleGetItem(value, at)


def _tensors(typ: Type) -> list[TensorType]:
    """Return the tensors in a type of tensors and tuples."""
    if isinstance(typ, TupleType):
        return [one for field in typ.fields for one in _tensors(field)]
    return [typ] if isinstance(typ, TensorType) else []
