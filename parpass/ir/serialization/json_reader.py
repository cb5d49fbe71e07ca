"""Reader of JSON: any text gives IR or a `MalformedJSONError`."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec

from parpass.errors import (
    IRTypeError,
    MalformedJSONError,
    ParpassError,
    SizeLimitError,
    UnknownOpError,
)
from parpass.errors.core import did_you_mean, quoted
from parpass.ir.adt import TypeData
from parpass.ir.attrs import INTS, DictAttrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.global_var import GlobalVar
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.serialization.arrays import array_from_json
from parpass.ir.serialization.json_keys import check_keys
from parpass.ir.serialization.json_writer import VERSION
from parpass.ir.serialization.records import Fault, Maker, constant, is_own_number
from parpass.ir.serialization.schema import Field, Form, Kind, ambiguous, known_kinds
from parpass.ir.serialization.table_reader import TableReader
from parpass.ir.serialization.value_forms import (
    HOLE,
    Hole,
    Holes,
    Made,
    RepeatedKeyError,
    key_of,
    mapping_of,
    value_of,
)
from parpass.ir.text.literals import float_of_word
from parpass.ir.types.type_structure import MAX_NESTING

_AS_THEY_ARE = frozenset({bool, str, float, type(None)})  # types of values
# Tags of values that are strings in JSON.
_READ: dict[str, Callable[[str], Any]] = {
    "float": float_of_word,
    "bytes": partial(binascii.a2b_base64, strict_mode=True),
}

_NEW_PAIR = "expected a new key and a value"
_NO_FUNCTION = "expected a new GlobalVar and a Function"
_NEWER = "a later parpass wrote it; read it with that one"
_OLDER = (
    "an earlier parpass wrote it; read it with that one, write its text by astext(), "
    "and read the text here, by relay.parse"
)
_TOO_DEEP = (
    f"expected lists and mappings nested at most {MAX_NESTING} deep, got far deeper "
    "ones; a program, however deep, is a flat list of nodes that refer to those before "
    "them, as save_json writes it"
)


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    parpass: int
    nodes: list[dict[str, Any]]
    root: Any


def load_json(text: str | bytes) -> Any:
    """Return the expression, type, attributes or module written by `save_json`.

    Free variables are new objects; operators are those of the table.

    Raises:
        MalformedJSONError: The text is not JSON, or not a program; the error gives the
            place.
    """
    if not isinstance(cast("object", text), str | bytes):
        raise IRTypeError(f"expected JSON text, got {type(text).__name__}")
    try:
        document = msgspec.json.decode(text, type=_Document)
        check_keys(text.encode() if isinstance(text, str) else text, document)
    except RecursionError:
        raise MalformedJSONError(_TOO_DEEP, where="JSON") from None
    except MalformedJSONError:
        raise
    except (msgspec.MsgspecError, ValueError) as error:
        raise MalformedJSONError(str(error), where="JSON") from None
    if document.parpass != VERSION:
        raise MalformedJSONError(
            f"expected version {VERSION}, got {document.parpass}: "
            + (_NEWER if document.parpass > VERSION else _OLDER),
            where="parpass",
        )
    try:
        objects = _objects(document.nodes)
    except Fault as fault:
        where = f"nodes[{fault.row}]{fault.where}"
        raise MalformedJSONError(str(fault), where=where) from None
    numbers: list[int] = []
    try:
        form = _Numbers(numbers, len(objects)).value(document.root, "")
        return value_of(form, iter([objects[one] for one in numbers]).__next__)
    except Fault as fault:
        raise MalformedJSONError(str(fault), where=f"root{fault.where}") from None


def _objects(entries: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the object of each entry; an entry refers to earlier ones."""
    reader = TableReader()
    parser = _Parser(reader)
    for at, entry in enumerate(entries):
        try:
            parser.add_row(at, entry)
        except Fault as fault:
            fault.row = at
            raise
    return reader.read(parser.makers, parser.stream)


class _Numbers:
    """The numbers in what is read of an entry, which are those of rows before it.

    Args:
        found: Where they are added.
        count: How many rows there are before.
    """

    def __init__(self, found: list[int], count: int) -> None:
        self.found = found
        self.count = count

    def reference(self, number: Any, where: str) -> Hole:
        """Add a number.

        Raises:
            Fault: It is none of a row before.
        """
        if type(number) is int and 0 <= number < self.count:
            self.found.append(number)
            return HOLE
        if type(number) is not int:
            raise Fault(where, f"expected a reference, got {type(number).__name__}")
        raise Fault(
            where,
            f"expected a reference to one of the {self.count} nodes "
            f"before, got {number}",
        )

    def optional(self, number: Any, where: str) -> Hole | None:
        """Add a number, if there is one."""
        return None if number is None else self.reference(number, where)

    def types(self, numbers: Any, where: str) -> Hole | Holes | None:
        """Add a number, or those of a list, if there are any."""
        if type(numbers) is list:
            return self.references(numbers, where)
        return self.optional(numbers, where)

    def number(self, number: Any, where: str) -> Any:
        """Add a number that is not one of a row."""
        if not is_own_number(number):
            return self.value(number, where)
        self.found.append(number)
        return HOLE

    def references(self, numbers: Any, where: str) -> Holes:
        """Add the numbers of a list."""
        if type(numbers) is not list:
            raise Fault(where, "expected a list of references")
        found = cast("list[Any]", numbers)
        for at, number in enumerate(found):
            if type(number) is int and 0 <= number < self.count:
                self.found.append(number)
            else:
                self.reference(number, f"{where}[{at}]")  # raises
        return Holes(len(found))

    def pairs(self, pairs: Any, where: str, expected: str = _NEW_PAIR) -> Holes:
        """Add the numbers of a list of pairs, of what is expected."""
        if type(pairs) is not list:
            raise Fault(where, "expected a list of pairs")
        found = cast("list[Any]", pairs)
        for at, pair in enumerate(found):
            if self.references(pair, f"{where}[{at}]") != 2:
                raise Fault(f"{where}[{at}]", expected)
        return Holes(2 * len(found))

    def value(self, json: Any, where: str, nesting: int = 0) -> Any:
        """Return the form of a plain value, and add the numbers in it."""
        if type(json) in _AS_THEY_ARE:
            return json
        if isinstance(json, list):
            _check_nesting(where, nesting)
            items = enumerate(cast("list[Any]", json))
            return [self.value(one, f"{where}[{at}]", nesting + 1) for at, one in items]
        if isinstance(json, dict):
            return self._tagged(cast("dict[str, Any]", json), where, nesting)
        if type(json) is int and json not in INTS:
            raise Fault(where, "expected an int of 64 bits")
        return json

    def _tagged(self, json: dict[str, Any], where: str, nesting: int) -> Any:
        if len(json) != 1:
            raise Fault(where, "expected one tag, such as {'ref': 3}")
        ((tag, body),) = json.items()
        if tag == "ref":
            return self.reference(body, where)
        if tag == "list" and isinstance(body, list):
            return Made(list, self.value(body, where, nesting))
        if tag == "pairs" and isinstance(body, list):
            _check_nesting(where, nesting)
            items: list[Any] = []
            for at, pair in enumerate(cast("list[Any]", body)):
                place = f"{where}[{at}]"
                both = self.value(pair, place, nesting)
                if type(pair) is not list or len(both) != 2:
                    raise Fault(place, _NEW_PAIR)
                items += both
            return Made(partial(_mapping, where), items)
        if tag in ("dict", "DictAttrs") and isinstance(body, dict):
            _check_nesting(where, nesting)
            named = cast("dict[str, Any]", body)
            values = [
                self.value(one, f"{where}.{key[:80]}", nesting + 1)
                for key, one in named.items()
            ]
            make = _dict_attrs if tag == "DictAttrs" else _dict
            return Made(partial(make, tuple(named), where), values)
        if tag in _READ and isinstance(body, str):
            try:
                return _READ[tag](body)
            except ValueError as error:
                raise Fault(where, str(error)) from None
        raise Fault(where, f"cannot read a value with the tag '{tag[:80]}'")


_Read = Callable[[_Numbers, Any, str], Any]  # of a field's value and place, its form
_READERS: dict[Form, _Read] = {
    Form.REFERENCE: _Numbers.reference,
    Form.OPTIONAL: _Numbers.optional,
    Form.REFERENCES: _Numbers.references,
    Form.TYPES: _Numbers.types,
    Form.PAIRS: _Numbers.pairs,
    Form.NUMBER: _Numbers.number,
    Form.PLAIN: _Numbers.value,
}


class _Shape(NamedTuple):
    """The common part of entries of a kind that give the same fields.

    Attributes:
        kind: The kind.
        fields: The fields, in the order of the kind.
        reads: Name, place, and what reads the value of each.
        records: The numbers of records, by the forms of the fields.
    """

    kind: Kind
    fields: list[Field]
    reads: list[tuple[str, str, _Read]]
    records: dict[tuple[Any, ...], int]


class _Parser:
    """Makes rows of entries.

    Args:
        reader: Knows what makes the objects of a record.

    Attributes:
        makers: What makes the objects of each record so far.
        stream: The rows so far.
    """

    def __init__(self, reader: TableReader) -> None:
        self.makers: list[Maker] = []
        self.stream: list[int] = []
        self._reader = reader
        self._numbers = _Numbers(self.stream, 0)
        self._kinds = known_kinds()
        self._shapes: dict[tuple[str, ...] | None, _Shape] = {}  # by `_names`
        self._special: dict[str, Callable[[Any, _Numbers], Maker]] = {
            "Op": _op,
            "NDArray": _array,
            "IRModule": _module,
        }

    def add_row(self, at: int, entry: dict[str, Any]) -> None:
        """Add an entry to the rows.

        Args:
            at: How many rows are before.
            entry: The entry.

        Raises:
            Fault: It is none.
        """
        if len(entry) != 1:
            raise Fault("", "expected one kind, such as {'Var': {...}}")
        ((name, body),) = entry.items()
        stream, numbers = self.stream, self._numbers
        begin, numbers.count = len(stream), at
        stream.append(0)  # for the record, which is known once what follows it is read
        if name in self._special:
            stream[begin] = self._new(self._special[name](body, numbers))
            return
        shape = self._shapes.get(_names(name, body)) or self._shape(name, body)
        forms = [read(numbers, body[one], place) for one, place, read in shape.reads]
        keyed = _ARE_KEYS.issuperset(map(type, forms))
        key = tuple(forms if keyed else map(_key, forms))
        try:
            stream[begin] = shape.records[key]
        except (KeyError, TypeError):  # a new one, or one without a key
            made = self._reader.maker(shape.kind, shape.fields, forms)
            stream[begin] = self._new(made)
            with suppress(TypeError):
                shape.records[key] = stream[begin]

    def _new(self, maker: Maker) -> int:
        self.makers.append(maker)
        return len(self.makers) - 1

    def _shape(self, name: str, body: Any) -> _Shape:
        kind = self._kinds.get(name)
        if kind is None:
            known = (*self._kinds, *self._special)
            raise Fault("", f"unknown kind '{name[:80]}'{did_you_mean(name, known)}")
        if kind.rival is not None:
            raise Fault("", ambiguous(kind))
        given = _object(body)
        if not kind.fields.keys() >= given.keys():
            odd = next(key for key in given if key not in kind.fields)
            hint = did_you_mean(odd, kind.fields)
            raise Fault("", f"{name} has no field '{odd[:80]}'{hint}")
        if not given.keys() >= kind.required:
            missing = sorted(kind.required - given.keys())
            raise Fault("", f"{name} needs {quoted(missing)}")
        fields = [one for one in kind.fields.values() if one.name in given]
        reads = [(one.name, one.place, _READERS[one.form]) for one in fields]
        found = self._shapes[_names(name, body)] = _Shape(kind, fields, reads, {})
        return found


def _names(name: str, body: Any) -> tuple[str, ...] | None:
    """Return the names of a kind and of fields; None if the entry has none."""
    return (name, *cast("dict[str, Any]", body)) if type(body) is dict else None


_ARE_KEYS = frozenset({Hole, Holes, str, type(None)})  # types of forms


def _key(form: Any) -> Any:
    return form if type(form) in _ARE_KEYS else key_of(form)


def _module(body: Any, numbers: _Numbers) -> Maker:
    begin, fields = len(numbers.found), _object(body)
    if fields.keys() - {"type_definitions"} != {"functions", "attrs", "sources"}:
        raise Fault("", "expected functions, attrs and sources of an IRModule")
    given = fields.get("type_definitions", [])
    types = numbers.references(given, ".type_definitions")
    functions = numbers.pairs(fields["functions"], ".functions", _NO_FUNCTION)
    attrs, sources = numbers.value(fields["attrs"], ".attrs"), fields["sources"]
    if not all(isinstance(text, str) for text in _object(sources).values()):
        raise Fault(".sources", "expected texts")

    def make(objects: tuple[Any, ...]) -> IRModule:
        others = iter(objects[types + functions :])
        return _module_of(
            _types_of(objects[:types]),
            _functions_of(objects[types : types + functions]),
            value_of(attrs, others.__next__),
            sources,
        )

    return Maker(len(numbers.found) - begin, make)


def _types_of(objects: Sequence[Any]) -> dict[Any, TypeData]:
    types: dict[Any, TypeData] = {}
    for at, one in enumerate(objects):
        if not isinstance(one, TypeData) or one.header in types:
            raise Fault(f".type_definitions[{at}]", "expected a new TypeData")
        types[one.header] = one
    return types


def _functions_of(objects: Sequence[Any]) -> dict[GlobalVar, BaseFunc]:
    functions: dict[GlobalVar, BaseFunc] = {}
    for at, pair in enumerate(zip(objects[::2], objects[1::2], strict=True)):
        match pair:
            case GlobalVar() as var, BaseFunc() as function if var not in functions:
                functions[var] = function
            case _:
                raise Fault(f".functions[{at}]", _NO_FUNCTION)
    return functions


def _module_of(types: Any, functions: Any, attrs: Any, sources: Any) -> IRModule:
    if not isinstance(attrs, DictAttrs | None):
        raise Fault(".attrs", "expected DictAttrs or None")
    try:
        return IRModule(functions, types, attrs, sources)
    except ParpassError as error:
        raise Fault(".functions", str(error)) from None


def _check_nesting(where: str, nesting: int) -> None:
    if nesting > MAX_NESTING:
        raise Fault(where, f"nested more than {MAX_NESTING} deep")


def _mapping(where: str, values: list[Any]) -> dict[Any, Any]:
    try:
        return mapping_of(values)
    except RepeatedKeyError as error:
        raise Fault(f"{where}[{error.at}]", str(error)) from None


def _dict(names: Sequence[str], where: str, values: list[Any]) -> dict[str, Any]:
    del where
    return dict(zip(names, values, strict=True))


def _dict_attrs(names: Sequence[str], where: str, values: list[Any]) -> DictAttrs:
    try:
        return DictAttrs(dict(zip(names, values, strict=True)))
    except (IRTypeError, SizeLimitError) as error:
        raise Fault(where, str(error)) from None


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise Fault("", f"expected an object, got {type(body).__name__}")
    return cast("dict[str, Any]", body)


def _op(name: Any, numbers: _Numbers) -> Maker:
    del numbers
    if not isinstance(name, str):
        raise Fault("", "expected the name of an operator")
    try:
        return constant(Op.get(name))
    except UnknownOpError as error:
        raise Fault("", str(error)) from None


def _array(form: Any, numbers: _Numbers) -> Maker:
    del numbers
    try:
        return constant(array_from_json(form))
    except ValueError as error:
        raise Fault("", str(error)) from None
