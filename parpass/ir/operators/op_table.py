"""The operator table: one entry holds all that is known of an operator.

Everything else (builders, type inference, the interpreter, constant folding, effects)
asks the entry, so that a new operator is written down in one place.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt
from msgspec.structs import force_setattr

from parpass.errors import (
    InternalError,
    IRError,
    IRTypeError,
    UnknownOpError,
    did_you_mean,
    quoted,
)
from parpass.ir.attrs import Attrs
from parpass.ir.declared import load_irs
from parpass.ir.node import Role, reflected
from parpass.ir.operators.effect import Effect
from parpass.ir.operators.op_attr_table import op_attr, reset_op_attr, set_op_attr
from parpass.ir.relay_expr import RelayExpr
from parpass.ir.types.ty import Type
from parpass.ir.types.type_relation import (
    TYPE_RELATIONS,
    TypeRelationError,
    TypeRelationFn,
    refusing,
)
from parpass.tables import Table

ArgumentTypes = Callable[[Sequence[Type | None], Any], Sequence[Type | None]]
Compute = Callable[..., Any]
Array = npt.NDArray[Any]


class OpPattern(enum.IntEnum):
    """How an operator's elements depend on its arguments': what it may be fused with.

    The names and the numbers are TVM's; a greater number fuses with less.
    """

    ELEMWISE = 0
    """Each element depends on one element at the same place of each argument."""
    BROADCAST = 1
    """As ELEMWISE, with dimensions that are repeated; the order of axes is kept."""
    INJECTIVE = 2
    """Each element depends on one element of each argument, at any place."""
    COMM_REDUCE = 3
    """Each element is a commutative reduction."""
    OUT_ELEMWISE_FUSABLE = 4
    """A heavy operator, such as a convolution, whose result ELEMWISE may go on with."""
    TUPLE = 7
    """A tuple, which is fused with what its fields are fused with."""
    OPAQUE = 8
    """Not to be fused."""


DEFAULT_LEVEL = 10  # of support, where nothing is said


@reflected(
    is_graph=False,
    num_inputs=Role.META,
    relation=Role.META,
    compute=Role.META,
    attrs_type=Role.META,
    effect=Role.META,
    non_computational=Role.META,
    pattern=Role.META,
    moves=Role.META,
    argument_types=Role.META,
    support_level=Role.META,
    description=Role.META,
    arguments=Role.META,
)
class Op(RelayExpr, frozen=True, eq=False):
    """An operator: an entry of the table, and the expression that a call refers to.

    There is one object for each name, so operators compare with `is`.

    Attributes:
        name: The name in Relay's text, such as `nn.conv2d`.
        num_inputs: How many arguments a call has.
        relation: Maps the argument types and the attributes to the result's type;
            raises `TypeRelationError` where the operator does not accept them.
        compute: The meaning on numpy: `compute(attrs, *values)` gives an array, or a
            tuple of arrays where the result is a tuple. An argument of tuple type
            comes as a tuple.
        attrs_type: The class of a call's attributes; None if it has none.
        effect: What it does besides giving a result; passes leave alone what has one.
        non_computational: Whether it stands for something that is not computed, such
            as an annotation.
        pattern: What it may be fused with.
        moves: Whether the elements of the result are those of the arguments, bit by
            bit. What does not, is never asked to compute in few digits.
        argument_types: Says which types the arguments must have, as far as the others
            and the attributes tell: maps the types that are known, None for the others,
            to those that are known then, in the same order. So a weight has a type
            without an annotation. It agrees with the relation, and raises
            `TypeRelationError` as that does; None where arguments tell nothing.
        support_level: How widely TVM supports it: 1 is for what all use.
        description: What it does, for readers.
        arguments: What its arguments are, for readers: names, types, descriptions.
    """

    name: str
    num_inputs: int
    relation: TypeRelationFn
    compute: Compute
    attrs_type: type[Attrs] | None = None
    effect: Effect = Effect.PURE
    non_computational: bool = False
    pattern: OpPattern = OpPattern.OPAQUE
    moves: bool = False
    argument_types: ArgumentTypes | None = None
    support_level: int = DEFAULT_LEVEL
    description: str = ""
    arguments: tuple[tuple[str, str, str], ...] = ()

    def set_num_inputs(self, n: int) -> None:
        """Say how many arguments a call has; see `declare`."""
        self.declare(num_inputs=n)

    def set_support_level(self, level: int) -> None:
        """Say how widely the operator is supported."""
        self.declare(support_level=level)

    def add_argument(
        self,
        name: str,
        type: str,  # noqa: A002 -- TVM's name
        description: str,
    ) -> None:
        """Say what the next argument is."""
        self.declare(arguments=(*self.arguments, (name, type, description)))

    def set_attrs_type_key(self, key: str) -> None:
        """Say which attributes a call has: `DictAttrs`, or an operator's by their name.

        Raises:
            IRTypeError: There are none of that name.
        """
        known = {one.attrs_type for one in _table.values() if one.attrs_type}
        by_name = {f"{one.namespace}.{one.__name__}": one for one in known}
        if key != "DictAttrs" and key not in by_name:
            raise IRTypeError(
                f"no attributes named '{key}'{did_you_mean(key, by_name)}"
            )
        self.declare(attrs_type=by_name.get(key))

    def add_type_rel(
        self, rel_name: str, type_rel_func: TypeRelationFn | None = None
    ) -> None:
        """Give the type relation.

        Args:
            rel_name: A name for it; without a function, that of a known one: `Identity`
                or `Broadcast`.
            type_rel_func: Returns the result's type, given those of the arguments and
                the attributes; None, or a failing `assert`, is for what is ill-typed.

        Raises:
            IRTypeError: There is no such relation.
        """
        if type_rel_func is not None:
            self.declare(relation=refusing(rel_name, type_rel_func))
            return
        load_irs()
        if rel_name not in TYPE_RELATIONS:
            raise IRTypeError(
                f"no type relation named '{rel_name}'; there are "
                f"{quoted(TYPE_RELATIONS)}"
            )
        self.declare(relation=TYPE_RELATIONS[rel_name])

    def declare(self, **fields: Any) -> None:
        """Say of an operator of the program's what it is, field by field.

        Raises:
            IRError: It is one of the library's, which stay as they are.
        """
        if self.name not in _table.added:
            raise IRError(
                f"expected an operator that this program registered, got '{self.name}'"
            )
        for name, value in fields.items():
            force_setattr(self, name, value)
        _table[self.name] = self  # so that workers are told

    def get_attr(self, attr_name: str) -> Any:
        """Return a property, or what `register_op_attr` gave; None where there is none.

        Args:
            attr_name: A property under TVM's name for it (`TOpPattern`,
                `TOpIsStateful`, `TNonComputational`), or the key of an attribute.
        """
        if attr_name == "TOpIsStateful":
            return self.effect is not Effect.PURE
        field = _PROPERTIES.get(attr_name)
        return op_attr(attr_name, self.name) if field is None else getattr(self, field)

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Give the operator an attribute, as `register_op_attr` does.

        Args:
            attr_name: The key, or `TOpPattern` or `TOpIsStateful` of an operator that
                the program registered.
            value: Whatever the readers of the key expect.
            plevel: Of two values under a key, the one of the higher level counts.

        Raises:
            IRError: It is a property of one of the library's operators.
        """
        if attr_name == "TOpIsStateful":
            self.declare(effect=Effect.WRITES if value else Effect.PURE)
        elif attr_name == "TOpPattern":
            self.declare(pattern=OpPattern(value))
        elif attr_name in _PROPERTIES:
            self.declare(**{_PROPERTIES[attr_name]: value})
        else:
            set_op_attr(attr_name, self.name, value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Take away what `register_op_attr` gave under a key, if anything.

        Raises:
            IRError: It is a property, which an operator has for good.
        """
        if attr_name == "TOpIsStateful" or attr_name in _PROPERTIES:
            raise IRError(
                f"expected an attribute of '{self.name}' that was registered, got "
                f"'{attr_name}', which an operator has for good"
            )
        reset_op_attr(attr_name, self.name)

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator of that name.

        Raises:
            UnknownOpError: There is none; the message has the nearest names.
        """
        found = Op.find(name)
        if found is None:
            raise UnknownOpError(name, _table)
        return found

    @staticmethod
    def find(name: str) -> Op | None:
        """Return the operator of that name, None if there is none."""
        found = _table.get(name)
        if found is None:
            load_irs(of=name)
            found = _table.find(name)
        return found

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operators, sorted."""
        load_irs()
        _table.ask(*_table.missing)
        return sorted(_table)

    def __reduce__(self) -> tuple[Any, ...]:
        return Op.get, (self.name,)

    def __repr__(self) -> str:
        return f"Op({self.name})"


_PROPERTIES = {
    "TNonComputational": "non_computational",
    "TOpPattern": "pattern",
}


class _Operators(Table[str, Op]):
    """The table; a foreign operator is there before what it does, which may name it."""

    def state_of(self, key: str) -> dict[str, Any]:
        op = self[key]
        return {name: getattr(op, name) for name in op.__struct_fields__}

    def outline(self, key: str) -> None:
        super().restore(key, Op(key, 0, _unknown, _unknown))

    def restore(self, key: str, state: dict[str, Any]) -> None:
        for name, value in state.items():
            force_setattr(self[key], name, value)


def _unknown(*_: Any) -> Any:
    raise InternalError("an operator was used before it was known")


_table = _Operators("operator")


def register_op(op: Op) -> Op:
    """Enter an operator in the table.

    Raises:
        IRError: The name is taken.
    """
    if _table.is_taken(op.name):
        raise IRError(f"operator '{op.name}' is registered already")
    _table[op.name] = op
    return op


__all__ = [
    "DEFAULT_LEVEL",
    "ArgumentTypes",
    "Array",
    "Compute",
    "Op",
    "OpPattern",
    "TypeRelationError",
    "TypeRelationFn",
    "register_op",
]
