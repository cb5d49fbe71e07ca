"""The table of operators: one entry holds every property of an operator.

Builders, type inference, the interpreter, constant folding and effects look operators
up here, so a new operator is declared in one place.

Effects. `Op.effect` is the kind of an operator's effect, `relay.analysis.Effects` that
of whole expressions, which every shipped pass uses. A call with an effect may stand
wherever a value may, if all its uses are in one block: the body of a function, a branch
of an `if`, or a clause of a match. It is evaluated once whenever its block is. Values
used by several blocks are bound by a `let` around them.

Creating a reference and reading one are READS: a new reference differs from all others,
and the value read depends on writes. Writing a reference is WRITES.

`let` orders effects: those of its value precede those of its body. Effects that no
`let` orders may happen in any order. Failure and non-termination of an evaluation are
no effects.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt
from msgspec.structs import force_setattr

from parpass.errors import IRError, IRTypeError, UnknownOpError
from parpass.errors.core import did_you_mean, quoted
from parpass.ir.attrs import Attrs
from parpass.ir.dialect import load_dialects
from parpass.ir.node import FieldKind, reflected
from parpass.ir.op.shared_op_tables import (
    OPERATORS,
    op_attr,
    reset_op_attr,
    set_op_attr,
)
from parpass.ir.op.type_relation import (
    TYPE_RELATIONS,
    TypeRelationError,
    TypeRelationFn,
    refusing,
)
from parpass.ir.relay_expr import RelayExpr
from parpass.ir.types import Type
from parpass.replicated_tables import ReplicatedTable

__all__ = [
    "ArgumentTypes",
    "Array",
    "Compute",
    "Op",
    "OpPattern",
    "TypeRelationError",
    "TypeRelationFn",
    "register_op",
]


class Effect(enum.IntEnum):
    """The side effect of a call; a greater one forbids more transformations.

    TVM's `TOpIsStateful` is true of all but PURE.
    """

    PURE = 0
    """Nothing, and the same arguments give the same result.

    Such a call may be computed ahead, merged with an equal one, copied, moved, dropped.
    """
    READS = 1
    """Its result depends on more than its arguments: a clock, what others write, noise.

    It may be dropped where nobody uses its result, and nothing else.
    """
    WRITES = 2
    """Others see that it ran, such as those that draw from the same generator.

    It stays where it is, and happens as often as it does.
    """


ArgumentTypes = Callable[[Sequence[Type | None], Any], Sequence[Type | None]]
Compute = Callable[..., Any]
Array = npt.NDArray[Any]


class OpPattern(enum.IntEnum):
    """The dependence of a result's elements on the arguments' elements, for fusion.

    The names and the numbers are TVM's; the greater the number, the less fuses with it.
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


@reflected(
    is_graph=False,
    num_inputs=FieldKind.META,
    relation=FieldKind.META,
    compute=FieldKind.META,
    attrs_type=FieldKind.META,
    effect=FieldKind.META,
    non_computational=FieldKind.META,
    pattern=FieldKind.META,
    moves=FieldKind.META,
    argument_types=FieldKind.META,
    description=FieldKind.META,
    arguments=FieldKind.META,
    support_level=FieldKind.META,
)
class Op(RelayExpr, frozen=True, eq=False):
    """An operator: an entry of the table, and the callee expression of its calls.

    There is one object for each name, so operators compare with `is`.

    Attributes:
        name: The name in Relay's text, such as `nn.conv2d`.
        num_inputs: The number of a call's arguments.
        relation: Maps the argument types and the attributes to the result's type;
            raises `TypeRelationError` where the operator does not accept them.
        compute: The numpy implementation: `compute(attrs, *values)` returns an array,
            or a tuple of arrays where the result is a tuple. An argument of tuple type
            is passed as a tuple.
        attrs_type: The class of a call's attributes; None if it has none.
        effect: The side effect; passes leave a call that has one unchanged.
        non_computational: Whether it computes nothing, such as an annotation.
        pattern: The fusion pattern.
        moves: Whether the elements of the result are those of the arguments, bit by
            bit. Other operators are never computed in fewer digits.
        argument_types: Returns the argument types as far as the known ones and the
            attributes determine them: maps types, None for unknown ones, to types in
            that order. So a weight has a type without an annotation. It agrees with the
            relation, and raises `TypeRelationError` as that does; None where no
            argument type is determined by others.
        description: Its documentation.
        arguments: Documentation of its arguments: names, types, descriptions.
        support_level: How widely it is supported, as the program says.
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
    description: str = ""
    arguments: tuple[tuple[str, str, str], ...] = ()
    support_level: int = 10  # TVM's, where nothing is said

    def set_num_inputs(self, n: int) -> None:
        """Set the number of a call's arguments; see `declare`."""
        self.declare(num_inputs=n)

    def set_support_level(self, level: int) -> None:
        """Set how widely the operator is supported; see `declare`."""
        self.declare(support_level=level)

    def add_argument(
        self,
        name: str,
        type: str,  # noqa: A002 -- TVM's name
        description: str,
    ) -> None:
        """Add the documentation of the next argument."""
        self.declare(arguments=(*self.arguments, (name, type, description)))

    def set_attrs_type_key(self, key: str) -> None:
        """Set the attributes of a call: `DictAttrs`, or an operator's by their name.

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
        """Set the type relation.

        Args:
            rel_name: A name for it; without a function, the name of a known relation:
                `Identity` or `Broadcast`.
            type_rel_func: Returns the result's type from the argument types and the
                attributes; returns None, or fails an `assert`, if they are ill-typed.

        Raises:
            IRTypeError: The relation is unknown.
        """
        if type_rel_func is not None:
            self.declare(relation=refusing(rel_name, type_rel_func))
            return
        load_dialects()
        if rel_name not in TYPE_RELATIONS:
            raise IRTypeError(
                f"no type relation named '{rel_name}'; there are "
                f"{quoted(TYPE_RELATIONS)}"
            )
        self.declare(relation=TYPE_RELATIONS[rel_name])

    def declare(self, **fields: Any) -> None:
        """Set properties of an operator of the program, by field.

        Raises:
            IRError: It is an operator of the library, which is immutable.
        """
        if self.name not in _table.added:
            raise IRError(
                f"expected an operator that this program registered, got '{self.name}'"
            )
        for name, value in fields.items():
            force_setattr(self, name, value)
        _table[self.name] = self  # changes are sent to workers

    def get_attr(self, attr_name: str) -> Any:
        """Return a property, or a value set by `register_op_attr`; None if missing.

        Args:
            attr_name: A property under TVM's name for it (`TOpPattern`,
                `TOpIsStateful`, `TNonComputational`), or the key of an attribute.
        """
        if attr_name == "TOpIsStateful":
            return self.effect is not Effect.PURE
        field = _PROPERTIES.get(attr_name)
        return op_attr(attr_name, self.name) if field is None else getattr(self, field)

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute of the operator, as `register_op_attr` does.

        Args:
            attr_name: The key, or `TOpPattern` or `TOpIsStateful` of an operator that
                the program registered.
            value: The value that readers of the key expect.
            plevel: Of two values under a key, the higher level wins.

        Raises:
            IRError: It is a property of a library operator.
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
        """Remove the value that `register_op_attr` set under a key, if any.

        Raises:
            IRError: It is a property, which cannot be removed.
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
            UnknownOpError: There is none; the message suggests the nearest names.
        """
        found = Op.find(name)
        if found is None:
            raise UnknownOpError(name, _table)
        return found

    @staticmethod
    def find(name: str) -> Op | None:
        """Return the operator of that name, or None."""
        found = _table.get(name)
        if found is None:
            load_dialects(of=name)
            found = _table.find(name)
        return found

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operators, sorted."""
        load_dialects()
        _table.load_missing(*_table.missing)
        return sorted(_table)

    def __reduce__(self) -> tuple[Any, ...]:
        return Op.get, (self.name,)

    def __repr__(self) -> str:
        return f"Op({self.name})"


_PROPERTIES = {
    "TNonComputational": "non_computational",
    "TOpPattern": "pattern",
}


_table: ReplicatedTable[str, Op] = OPERATORS


def register_op(op: Op) -> Op:
    """Add an operator to the table.

    Raises:
        IRError: The name is taken.
    """
    if _table.is_defined_here(op.name):
        raise IRError(f"operator '{op.name}' is registered already")
    _table[op.name] = op
    return op


def attrs_types() -> list[type[Attrs]]:
    """Return the classes of attributes of all operators."""
    if _table.missing:
        _table.load_missing(*_table.missing)
    return [op.attrs_type for op in _table.values() if op.attrs_type is not None]
