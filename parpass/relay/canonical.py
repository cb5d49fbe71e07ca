"""The canonical form of an expression: its structure, free of names and objects.

The form is a list of records in post-order, in which children are meant by number.
Two expressions are structurally equal exactly if their forms are, and a structural
hash is a hash of the form; so the two can never disagree.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import msgspec

from parpass.errors import IRTypeError
from parpass.relay.dict_attrs import DictAttrs
from parpass.relay.expr import Expr, Var
from parpass.relay.ndarray import NDArray
from parpass.relay.node import Node, bindings, layout, post_order
from parpass.relay.ty import Type


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
    free: Var | None


class Canonical:
    """The canonical form of one expression.

    A bound variable gets a number of its own where it is bound, as does a node whose
    sharing matters (`Layout.is_graph`); of the other nodes those that look the same
    have the same number, be they one object or several.

    Args:
        root: The expression.
        map_free_vars: Whether free variables are told apart by order of appearance
            only, as bound ones are.
    """

    def __init__(self, root: Expr, *, map_free_vars: bool) -> None:
        order = post_order(root)
        self.root = root
        self.records: list[Record] = []
        self.numbers: dict[Node, int] = {}
        self._mapped = map_free_vars
        self._bound = {var for node in order for var in bindings(node)}
        known: dict[Record, int] = {}
        for node in order:
            record = self._record(node)
            number = len(self.records)
            if not (isinstance(node, Var) or layout(type(node)).is_graph):
                number = known.setdefault(record, number)
            if number == len(self.records):
                self.records.append(record)
            self.numbers[node] = number

    def record_of(self, node: Node) -> Record:
        """Return the record of a node of the expression."""
        return self.records[self.numbers[node]]

    def _record(self, node: Node) -> Record:
        kind = type(node)
        if isinstance(node, Var):
            if self._mapped or node in self._bound:
                return Record(kind, value_bytes(node.type_annotation), None, (), None)
            named = (node.name_hint, node.type_annotation)
            return Record(kind, value_bytes(named), None, (), node)
        numbers = self.numbers
        children = tuple([numbers[child] for child in layout(kind).children(node)])
        values = [getattr(node, name) for name in layout(kind).values]
        if len(values) == 1 and isinstance(values[0], NDArray):
            return Record(kind, b"", values[0], children, None)
        return Record(kind, value_bytes(values), None, children, None)


def value_bytes(value: Any) -> bytes:
    """Return a type, or a plain value such as a call's attributes, as bytes.

    Equal bytes mean equal values: 1, 1.0 and True differ, a NaN equals itself, the
    order of a mapping's keys does not matter.

    Raises:
        IRTypeError: The value is not plain.
    """
    return _encoder.encode(_tagged(value))


def _tagged(value: Any) -> Any:
    """Return a value with the class of attributes, which msgspec leaves out."""
    if isinstance(value, list):
        return [_tagged(item) for item in cast("list[Any]", value)]
    if isinstance(value, msgspec.Struct) and not isinstance(value, Type):
        return (type(value).__qualname__, value)
    return value


def _as_plain(value: Any) -> Any:
    if isinstance(value, DictAttrs):
        return dict(value)
    if isinstance(value, NDArray):
        return value.digest()
    raise IRTypeError(
        "expected plain values (numbers, strings, tuples, mappings) in attributes, got "
        f"{type(value).__name__}"
    )


_encoder = msgspec.msgpack.Encoder(enc_hook=_as_plain, order="deterministic")
