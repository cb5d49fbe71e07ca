"""Reader of the JSON format: any text gives IR or a `MalformedJSONError`."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import msgspec

from parpass.diagnostic import PlaceCounter
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
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.op_table import Op
from parpass.ir.serialization.arrays import array_from_json
from parpass.ir.serialization.schema import (
    VERSION,
    Field,
    Form,
    Kind,
    ambiguous,
    depth_of,
    known_kinds,
    unqualified,
)
from parpass.ir.text.literals import float_of_word
from parpass.ir.type_structure import MAX_NESTING
from parpass.ir.typed_expr import BaseFunc, GlobalVar

_AS_THEY_ARE = frozenset({bool, str, float, type(None)})  # types of values
# Tags of values that are strings in JSON.
_READ: dict[str, Callable[[str], Any]] = {
    "float": float_of_word,
    "bytes": partial(binascii.a2b_base64, strict_mode=True),
}

_TOO_DEEP = (
    f"expected lists and mappings nested at most {MAX_NESTING} deep, got far deeper "
    "ones; a program, however deep, is a flat list of nodes that refer to those before "
    "them, as save_json writes it"
)


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    parpass: int
    nodes: list[dict[str, Any]]
    root: Any


class _Fault(Exception):  # noqa: N818 -- becomes a MalformedJSONError
    """An error, and its place in the entry."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where


def load_json(text: str | bytes) -> Any:
    """Return the expression, type, attributes or module written by `save_json`.

    Free variables are new ones; operators are those of the table.

    Raises:
        MalformedJSONError: The text is not JSON, or no program; the error has the
            place.
    """
    PlaceCounter.count += 1
    if not isinstance(cast("object", text), str | bytes):
        raise IRTypeError(f"expected JSON text, got {type(text).__name__}")
    try:
        document = msgspec.json.decode(text, type=_Document)
    except RecursionError:
        raise MalformedJSONError(_TOO_DEEP, where="JSON") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise MalformedJSONError(str(error), where="JSON") from None
    if not 1 <= document.parpass <= VERSION:
        raise MalformedJSONError(
            f"expected a version up to {VERSION}, got {document.parpass}",
            where="parpass",
        )
    reader = _Reader(document.parpass)
    for at, entry in enumerate(document.nodes):
        try:
            reader.read(entry)
        except _Fault as fault:
            where = f"nodes[{at}]{fault.where}"
            raise MalformedJSONError(str(fault), where=where) from None
    try:
        return reader.value(document.root, "")
    except _Fault as fault:
        raise MalformedJSONError(str(fault), where=f"root{fault.where}") from None


class _Reader:
    """Constructs one object for each entry; an entry refers to earlier ones."""

    def __init__(self, version: int) -> None:
        kinds = known_kinds()
        self._kinds = unqualified(kinds) if version == 1 else kinds
        self._objects: list[Any] = []
        self._depths: list[int] = []
        self._inside = -1  # how deep what this entry refers to is nested
        self._special: dict[str, Callable[[Any], Any]] = {
            "Op": _op,
            "NDArray": _array,
            "IRModule": self._module,
        }

    def read(self, entry: dict[str, Any]) -> None:
        """Construct the object of the next entry."""
        if len(entry) != 1:
            raise _Fault("", "expected one kind, such as {'Var': {...}}")
        ((name, body),) = entry.items()
        self._inside = -1
        kind = self._kinds.get(name)
        if kind is not None:
            made = self._struct(kind, name, body)
        elif name in self._special:
            made = self._special[name](body)
        else:
            known = (*self._kinds, *self._special)
            raise _Fault("", f"unknown kind '{name[:80]}'{did_you_mean(name, known)}")
        try:
            self._depths.append(depth_of(made, self._inside))
        except SizeLimitError as error:
            raise _Fault("", str(error)) from None
        self._objects.append(made)

    def value(self, form: Any, where: str, nesting: int = 0) -> Any:
        """Return a plain value, or the object that it refers to."""
        if type(form) in _AS_THEY_ARE:
            return form
        if isinstance(form, list):
            _check_nesting(where, nesting)
            items = enumerate(cast("list[Any]", form))
            return tuple(
                [self.value(one, f"{where}[{at}]", nesting + 1) for at, one in items]
            )
        if isinstance(form, dict):
            return self._tagged(cast("dict[str, Any]", form), where, nesting)
        if type(form) is int and form not in INTS:
            raise _Fault(where, "expected an int of 64 bits")
        return form

    def _tagged(self, form: dict[str, Any], where: str, nesting: int) -> Any:
        if len(form) != 1:
            raise _Fault(where, "expected one tag, such as {'ref': 3}")
        ((tag, body),) = form.items()
        if tag == "ref":
            return self._referred(body, where)
        if tag == "list" and isinstance(body, list):
            return list(self.value(body, where, nesting))
        if tag == "pairs" and isinstance(body, list):
            return self._pairs(cast("list[Any]", body), where, nesting)
        if tag in ("dict", "DictAttrs") and isinstance(body, dict):
            _check_nesting(where, nesting)
            items = {
                key: self.value(one, f"{where}.{key[:80]}", nesting + 1)
                for key, one in cast("dict[str, Any]", body).items()
            }
            return _dict_attrs(items, where) if tag == "DictAttrs" else items
        if tag in _READ and isinstance(body, str):
            try:
                return _READ[tag](body)
            except ValueError as error:
                raise _Fault(where, str(error)) from None
        raise _Fault(where, f"cannot read a value with the tag '{tag[:80]}'")

    def _pairs(self, pairs: list[Any], where: str, nesting: int) -> dict[Any, Any]:
        """Return a mapping whose keys are not all names."""
        _check_nesting(where, nesting)
        found: dict[Any, Any] = {}
        for at, pair in enumerate(pairs):
            place = f"{where}[{at}]"
            made = self.value(pair, place, nesting)
            if type(pair) is not list or len(made) != 2 or not _is_new(made[0], found):
                raise _Fault(place, "expected a new key and a value")
            found[made[0]] = made[1]
        return found

    def _referred(self, number: Any, where: str) -> Any:
        if type(number) is not int:
            raise _Fault(where, f"expected a reference, got {type(number).__name__}")
        if not 0 <= number < len(self._objects):
            raise _Fault(
                where,
                f"expected a reference to one of the {len(self._objects)} nodes "
                f"before, got {number}",
            )
        depth = self._depths[number]
        if depth > self._inside:
            self._inside = depth
        return self._objects[number]

    def _all_referred(self, numbers: Any, where: str) -> tuple[Any, ...]:
        if type(numbers) is not list:
            raise _Fault(where, "expected a list of references")
        found: list[Any] = []
        objects, depths, inside = self._objects, self._depths, self._inside
        for number in cast("list[Any]", numbers):
            if type(number) is not int or not 0 <= number < len(objects):
                return self._referred(number, f"{where}[{len(found)}]")  # raises
            found.append(objects[number])
            if depths[number] > inside:
                inside = depths[number]
        self._inside = inside
        return tuple(found)

    def _struct(self, kind: Kind, name: str, body: Any) -> Any:
        if kind.rival is not None:
            raise _Fault("", ambiguous(kind))
        fields = _object(body)
        if not kind.fields.keys() >= fields.keys():
            odd = next(key for key in fields if key not in kind.fields)
            hint = did_you_mean(odd, kind.fields)
            raise _Fault("", f"{name} has no field '{odd[:80]}'{hint}")
        if not fields.keys() >= kind.required:
            missing = sorted(kind.required - fields.keys())
            raise _Fault("", f"{name} needs {quoted(missing)}")
        kinds = kind.fields
        values = {key: self._field(kinds[key], form) for key, form in fields.items()}
        try:
            return kind.make(**values)
        except (ParpassError, TypeError, ValueError, OverflowError) as error:
            raise _Fault("", f"{name} cannot be made: {error}") from None

    def _field(self, field: Field, json: Any) -> Any:
        form = field.form
        if form is Form.PLAIN:
            value = self.value(json, field.place)
        elif form is Form.REFERENCES or (form is Form.TYPES and type(json) is list):
            value = self._all_referred(json, field.place)
        elif form is Form.PAIRS:
            value = self._mapping(json, field.place)
        elif json is None and form is not Form.REFERENCE:
            value = None
        else:
            value = self._referred(json, field.place)
        misfit = field.check(value)
        if misfit is not None:
            message = f"expected {misfit.expected}, not {misfit.found}"
            raise _Fault(field.place + misfit.where, message)
        return value

    def _mapping(self, form: Any, where: str) -> dict[Any, Any]:
        if type(form) is not list:
            raise _Fault(where, "expected a list of pairs")
        found: dict[Any, Any] = {}
        for at, numbers in enumerate(cast("list[Any]", form)):
            pair = self._all_referred(numbers, f"{where}[{at}]")
            if len(pair) != 2 or not isinstance(pair[0], Node) or pair[0] in found:
                raise _Fault(f"{where}[{at}]", "expected a new key and a value")
            found[pair[0]] = pair[1]
        return found

    def _module(self, body: Any) -> IRModule:
        fields = _object(body)
        if fields.keys() - {"type_definitions"} != {"functions", "attrs", "sources"}:
            raise _Fault("", "expected functions, attrs and sources of an IRModule")
        types: dict[Any, TypeData] = {}
        numbers = fields.get("type_definitions", [])
        for one in self._all_referred(numbers, ".type_definitions"):
            if not isinstance(one, TypeData) or one.header in types:
                message = "expected a new TypeData"
                raise _Fault(f".type_definitions[{len(types)}]", message)
            types[one.header] = one
        if type(fields["functions"]) is not list:
            raise _Fault(".functions", "expected a list of pairs")
        functions: dict[Any, Any] = {}
        for at, numbers in enumerate(cast("list[Any]", fields["functions"])):
            where = f".functions[{at}]"
            pair = self._all_referred(numbers, where)
            match pair:
                case GlobalVar() as var, BaseFunc() if var not in functions:
                    functions[var] = pair[1]
                case _:
                    raise _Fault(where, "expected a new GlobalVar and a Function")
        attrs, sources = self.value(fields["attrs"], ".attrs"), fields["sources"]
        if not isinstance(attrs, DictAttrs | None):
            raise _Fault(".attrs", "expected DictAttrs or None")
        texts: Any = _object(sources).values()
        if not all(isinstance(text, str) for text in texts):
            raise _Fault(".sources", "expected texts")
        try:
            return IRModule(functions, types, attrs, sources)
        except ParpassError as error:
            raise _Fault(".functions", str(error)) from None


def _check_nesting(where: str, nesting: int) -> None:
    if nesting > MAX_NESTING:
        raise _Fault(where, f"nested more than {MAX_NESTING} deep")


def _is_new(key: Any, found: dict[Any, Any]) -> bool:
    try:
        return key not in found
    except TypeError:  # what cannot be a key, such as a list
        return False


def _dict_attrs(items: dict[str, Any], where: str) -> DictAttrs:
    try:
        return DictAttrs(items)
    except (IRTypeError, SizeLimitError) as error:
        raise _Fault(where, str(error)) from None


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise _Fault("", f"expected an object, got {type(body).__name__}")
    return cast("dict[str, Any]", body)


def _op(name: Any) -> Op:
    if not isinstance(name, str):
        raise _Fault("", "expected the name of an operator")
    try:
        return Op.get(name)
    except UnknownOpError as error:
        raise _Fault("", str(error)) from None


def _array(form: Any) -> Any:
    try:
        return array_from_json(form)
    except ValueError as error:
        raise _Fault("", str(error)) from None
