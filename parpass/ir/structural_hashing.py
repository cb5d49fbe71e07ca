"""The structural hash: the form of expressions that it hashes, and where two differ.

The form is a list of records in post-order that refer to children by number; it has no
names and no object identities. Two expressions are structurally equal exactly if their
forms are equal, and a structural hash is a hash of the form, so the two cannot
disagree. `first_mismatch` locates a difference for error messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from parpass.errors import IRTypeError
from parpass.ir.node import FieldKind, Node, bindings, children, post_order, reflection
from parpass.ir.type_functor import TypeMutator
from parpass.ir.types import IncompleteType, TensorType, Type, TypeVar
from parpass.ir.types.type_structure import digest, is_complete, kind_of, substitute
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence


class Record(NamedTuple):
    """The structure of one node.

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
    sharing is significant (`Reflection.is_graph`); other nodes with equal records share
    one number, whether they are one object or several.

    Args:
        root: The expression.
        map_free_vars: Whether free variables are identified only by order of
            appearance, as bound ones are.
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
        """Return the types and plain values of a node that belong to the structure."""
        values = reflection(type(node)).structure(node)
        if not self._type_names:
            return values
        return [self._renamed(node, value) for value in values]

    def _renamed(self, node: Node, value: Any) -> Any:
        """Return types whose bound type variables are named by their binding place."""
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
    """Return canonical names of type parameters, for nodes of polymorphic functions.

    Two programs that differ only in the names of type parameters get equal results.

    Args:
        order: The nodes of an expression in post-order.
    """
    found: dict[Node, Mapping[TypeVar, TypeVar]] = {}
    if not any(reflection(type(node)).type_bindings(node) for node in order):
        return found
    at = 0  # of those that bind: how many leaves are one object does not matter
    for node in reversed(order):
        names = found.get(node, {})
        bound = reflection(type(node)).type_bindings(node)
        if bound:
            own, at = enumerate(bound), at + 1
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
    """Encode a type, or a plain value such as a call's attributes, as bytes.

    Equal bytes mean equal values: 1, 1.0 and True differ, a NaN equals itself, the
    order of a mapping's keys is ignored.

    Raises:
        IRTypeError: The value is not plain.
    """
    return _encoder.encode(_tagged(value))


_PLAIN = {int, float, str, bool, bytes, type(None), TensorType}


def _tagged(value: Any) -> Any:
    """Return a value together with its class of attributes, which msgspec leaves out.

    Types that share parts must not reach msgspec, which would write them as trees.
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
    """Replaces all incomplete types, each equal only to itself, by one type."""

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


_STEPS_SHOWN = 20


class Mismatch(NamedTuple):
    """The path of a difference, and the values of both sides."""

    path: str
    lhs: str
    rhs: str
    function: str | None = None


def first_mismatch(left: Canonical, right: Canonical) -> Mismatch:
    """Return the first difference between two forms that are not equal.

    The path from the roots follows the first children that are not equal. Children are
    equal if they have one number and it is below the first record that differs.
    """
    pairs = list(zip(left.records, right.records, strict=False))
    differ = (at for at, (mine, theirs) in enumerate(pairs) if mine != theirs)
    equal = next(differ, len(pairs))  # all of the one may be the start of the other
    lhs, rhs = left.root, right.root
    steps: list[str] = []
    while True:
        found = _own_mismatch(left, right, lhs, rhs)
        if found is not None:
            field, mine, theirs = found
            return Mismatch(_path([*steps, field]), mine, theirs)
        below = zip(_labels(lhs), children(lhs), children(rhs), strict=True)
        for label, mine, theirs in below:
            number = left.numbers[mine]
            if number >= equal or number != right.numbers[theirs]:
                steps.append(label)
                lhs, rhs = mine, theirs
                break
        else:
            return Mismatch(_path(steps), _identity(left, lhs), _identity(right, rhs))


def _own_mismatch(
    left: Canonical, right: Canonical, lhs: Node, rhs: Node
) -> tuple[str, str, str] | None:
    """Return field and both values where two nodes differ, children aside."""
    mine, theirs = left.record_of(lhs), right.record_of(rhs)
    if mine.kind is not theirs.kind or len(mine.children) != len(theirs.children):
        return "", repr(lhs), repr(rhs)
    if mine.free is not theirs.free:
        return "", _scope(lhs, mine.free), _scope(rhs, theirs.free)
    if mine.data != theirs.data:
        return ".data", _array(mine.data), _array(theirs.data)
    if mine.values != theirs.values:
        compared = zip(left.values_of(lhs), right.values_of(rhs), strict=True)
        for field, (of_lhs, of_rhs) in zip(_fields(lhs), compared, strict=True):
            if value_bytes([of_lhs]) != value_bytes([of_rhs]):
                return f".{field}", repr(of_lhs), repr(of_rhs)
    return None


def _fields(node: Node) -> Sequence[str]:
    """Return the names of the values that `Canonical.values_of` gives."""
    fields = reflection(type(node))
    return fields.values[fields.is_variable :]


def _labels(node: Node) -> list[str]:
    """Return for each child of a node the name of its field."""
    labels: list[str] = []
    for name, field_kind in reflection(type(node)).field_kinds.items():
        value = getattr(node, name)
        if field_kind in (FieldKind.CHILD, FieldKind.BINDING):
            labels.append(f".{name}")
        elif field_kind is FieldKind.OPTIONAL:
            labels += [f".{name}"] * (value is not None)
        elif field_kind in (FieldKind.CHILDREN, FieldKind.BINDINGS):
            labels += [f".{name}[{at}]" for at in range(len(value))]
        elif field_kind is FieldKind.PATTERN:
            labels += [f".{name}.variables[{at}]" for at in range(len(value.variables))]
        elif field_kind is FieldKind.MAPPING:
            labels += [f".{name}.keys[{at}]" for at in range(len(value))]
            labels += [f".{name}[{at}]" for at in range(len(value))]
    return labels


def _path(steps: list[str]) -> str:
    if len(steps) > _STEPS_SHOWN:
        left_out = len(steps) - _STEPS_SHOWN
        half = _STEPS_SHOWN // 2
        steps = [*steps[:half], f"...({left_out} more)...", *steps[-half:]]
    return "<root>" + "".join(steps)


def _array(data: NDArray | None) -> str:
    return repr(data) if data is None else f"{data!r} of {data.numpy()!s:.60}"


def _scope(node: Node, free: Node | None) -> str:
    return f"{node!r} ({'bound' if free is None else 'free'})"


def _identity(side: Canonical, node: Node) -> str:
    how = "bound" if reflection(type(node)).is_variable else "shared"
    return f"{node!r}, {how} elsewhere (node {side.numbers[node]} in post-order)"
