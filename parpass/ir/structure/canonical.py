"""The canonical form of an expression: its structure, free of names and objects.

The form is a list of records in post-order, in which children are meant by number.
Two expressions are structurally equal exactly if their forms are, and a structural
hash is a hash of the form; so the two can never disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from parpass.errors import IRTypeError
from parpass.ir.node import Node, bindings, children, post_order, reflection
from parpass.ir.type_functor import TypeMutator
from parpass.ir.types.ty import IncompleteType, TensorType, Type, TypeVar
from parpass.ir.types.type_structure import digest, is_complete, kind_of, substitute
from parpass.runtime.ndarray import NDArray


class Record(NamedTuple):
    """What the structure of one node is.

    Attributes:
        kind: The node class.
        values: Its types and plain values, as bytes.
        data: Its array, if it has one.
        children: The numbers of its children.
        free: A free variable that is equal only to itself.
    """

    kind: type[Node]
    values: bytes
    data: NDArray | None
    children: tuple[int, ...]
    free: Node | None


class Canonical:
    """The canonical form of one expression.

    A bound variable gets a number of its own where it is bound, as does a node whose
    sharing matters (`Reflection.is_graph`); of the other nodes those that look the same
    have the same number, be they one object or several.

    Args:
        root: The expression.
        map_free_vars: Whether free variables are told apart by order of appearance
            only, as bound ones are.
    """

    def __init__(self, root: Node, *, map_free_vars: bool) -> None:
        order = post_order(root)
        self.root = root
        self._type_names = type_names(order)
        self.records: list[Record] = []
        self.numbers: dict[Node, int] = {}
        self._mapped = map_free_vars
        self._bound = {var for node in order for var in bindings(node)}
        known: dict[Record, int] = {}
        for node in order:
            record = self._record(node)
            number = len(self.records)
            fields = reflection(type(node))
            # What has no children, such as `()`, is a value, however often it stands.
            is_shared = fields.is_variable or (fields.is_graph and record.children)
            if not is_shared:
                number = known.setdefault(record, number)
            if number == len(self.records):
                self.records.append(record)
            self.numbers[node] = number

    def record_of(self, node: Node) -> Record:
        """Return the record of a node of the expression."""
        return self.records[self.numbers[node]]

    def values_of(self, node: Node) -> list[Any]:
        """Return the types and plain values of a node that are structure."""
        values = reflection(type(node)).structure(node)
        if not self._type_names:
            return values
        return [self._renamed(node, value) for value in values]

    def _renamed(self, node: Node, value: Any) -> Any:
        """Return types with bound type variables named by where they are bound."""
        names = self._type_names.get(node)
        if names is None:
            return value
        if isinstance(value, Type):
            return substitute(value, names)
        if isinstance(value, tuple):
            parts = cast("tuple[Any, ...]", value)
            return tuple(self._renamed(node, part) for part in parts)
        return value

    def _record(self, node: Node) -> Record:
        kind, values = type(node), self.values_of(node)
        fields, numbers = reflection(kind), self.numbers
        if fields.is_variable:
            if self._mapped or node in self._bound:
                return Record(kind, value_bytes(values), None, (), None)
            named = [getattr(node, fields.values[0]), *values]
            return Record(kind, value_bytes(named), None, (), node)
        children = tuple([numbers[child] for child in fields.children(node)])
        if len(values) == 1 and isinstance(values[0], NDArray):
            return Record(kind, b"", values[0], children, None)
        return Record(kind, value_bytes(values), None, children, None)


def type_names(order: Sequence[Node]) -> dict[Node, Mapping[TypeVar, TypeVar]]:
    """Return for nodes in functions with type parameters what these are called.

    Two programs that differ in the names of type parameters only come out the same.

    Args:
        order: The nodes of an expression in post-order.
    """
    found: dict[Node, Mapping[TypeVar, TypeVar]] = {}
    if not any(reflection(type(node)).type_bindings(node) for node in order):
        return found
    for at, node in enumerate(reversed(order)):
        names = found.get(node, {})
        bound = reflection(type(node)).type_bindings(node)
        if bound:
            own = enumerate(bound)
            names = {
                **names,
                **{var: TypeVar(f"<{at}.{n}>", var.kind) for n, var in own},
            }
            found[node] = names
        if names:
            for child in children(node):
                found.setdefault(child, names)
    return found


def value_bytes(value: Any) -> bytes:
    """Return a type, or a plain value such as a call's attributes, as bytes.

    Equal bytes mean equal values: 1, 1.0 and True differ, a NaN equals itself, the
    order of a mapping's keys does not matter.

    Raises:
        IRTypeError: The value is not plain.
    """
    return _encoder.encode(_tagged(value))


_PLAIN = {int, float, str, bool, bytes, type(None), TensorType}


def _tagged(value: Any) -> Any:
    """Return a value with the class of attributes, which msgspec leaves out.

    Types that share parts must not come to msgspec, which would write them as trees.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Type):
        typ = value if is_complete(value) else _Completion().visit(value)
        return (kind_of(typ), digest(typ))
    if isinstance(value, list | tuple):
        return [_tagged(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        if all(type(key) is str for key, _ in items):
            return {key: _tagged(item) for key, item in items}
        # msgspec sorts only strings, so the others are sorted here, as bytes.
        pairs = [(value_bytes(key), _tagged(item)) for key, item in items]
        return ["mapping", *sorted(pairs, key=lambda pair: pair[0])]
    if isinstance(value, Node):
        raise _not_plain(value)
    if isinstance(value, msgspec.Struct):
        kind = type(value)
        fields = {name: getattr(value, name) for name in kind.__struct_fields__}
        is_plain = {*map(type, fields.values())} <= _PLAIN
        name = f"{getattr(kind, 'namespace', '')}.{kind.__qualname__}"
        return (name, value if is_plain else _tagged(fields))
    return value


class _Completion(TypeMutator):
    """Puts one type for all that are open, which are equal only to themselves."""

    def visit_incomplete_type(self, it: IncompleteType) -> Type:
        return _OPEN


_OPEN = TypeVar("\0_")


def _as_plain(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.digest()
    raise _not_plain(value)


def _not_plain(value: Any) -> IRTypeError:
    return IRTypeError(
        "expected plain values (numbers, strings, tuples, mappings) in attributes, got "
        f"{type(value).__name__}"
    )


# Fields of structs are sorted, too, as those of plain values are not made a mapping.
_encoder = msgspec.msgpack.Encoder(enc_hook=_as_plain, order="sorted")
