"""The parser of types, and of the values of attributes, in which types may stand.

Nothing recurses along the text: what is open, such as a list of which the items are
being read, is on a stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from parpass.errors import SizeLimitError
from parpass.ir.adt import GlobalTypeVar, TypeCall
from parpass.ir.text.attribute import Attribute
from parpass.ir.text.cursor import is_name, is_string
from parpass.ir.text.literals import read_number
from parpass.ir.text.names import read_name
from parpass.ir.text.problems import Problems
from parpass.ir.text.type_leaves import TypeLeaves
from parpass.ir.types.ty import FuncType, RelayRefType, TupleType, Type
from parpass.ir.types.ty import TypeVar as RelayTypeVar
from parpass.ir.types.type_structure import MAX_NESTING

_HAVE_VALUES = {"]", "}"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class _Nested(NamedTuple):
    """A type or a value, and how deep others are nested in it."""

    value: Any
    depth: int = 0


_NON_FINITE = {"inff", "nanf"}
_WORDS = {
    **{word: _Nested(read_number(word)) for word in _NON_FINITE},
    **{str(value): _Nested(value) for value in (True, False, None)},
}


class _Open:
    """A type or a value of which the parts are being read.

    Attributes:
        begin: The token at which it begins.
        closing: The token that ends its parts; nothing ends those of a function's type
            any more when its result comes next.
        type_params: Those of a function's type; None if it is none.
        make: Makes a type of its parts, if it is neither that nor a tuple.
        parts: Those that have been read; keys and values of a mapping in turn.
    """

    __slots__ = ("begin", "closing", "make", "parts", "type_params")

    def __init__(
        self,
        begin: int,
        closing: str,
        type_params: tuple[RelayTypeVar, ...] | None = None,
        make: Callable[[tuple[Any, ...]], Type] | None = None,
    ) -> None:
        self.make = make
        self.begin = begin
        self.closing = closing
        self.type_params = type_params
        self.parts: list[_Nested] = []


class TypeParser(TypeLeaves):
    """Makes types and values."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self._values = dict(_WORDS)

    def type(self) -> Type:
        """Read a type."""
        return self._nested(of_values=False)

    def value(self) -> Any:
        """Read the value of an attribute; a sequence becomes a tuple."""
        read = partial(self._nested, of_values=True)
        return self.known_or(read) if self.texts[self.at] == "[" else read()

    def attribute(self) -> Attribute:
        """Read `name=value`."""
        at = self.at
        place = self.span(at, at)
        name = self.converted((at, at), self.texts[at], read_name, "")
        self.at += 1
        self.expect("=")
        return Attribute(name, self.value(), place)

    def _nested(self, *, of_values: bool) -> Any:
        waiting: list[_Open] = []
        while True:
            are_values = of_values
            if waiting:
                last = waiting[-1]
                are_values = last.closing in _HAVE_VALUES and last.make is None
            part = self._begin(waiting, are_values=are_values)
            while part is not None:
                if not waiting:
                    return part.value
                part = self._continue(waiting, part)

    def _begin(self, waiting: list[_Open], *, are_values: bool) -> _Nested | None:
        """Read a type or value that has no parts, or what opens one that has."""
        at = self.at
        token = self.texts[at]
        if token == "fn":
            self.at += 1
            params = self.type_params()
            self.expect("(", "'('" if params else "'<', '(' or '['")
            opened = _Open(at, ")", params)
        elif token == "(" or (are_values and token in _CLOSING):
            self.at += 1
            opened = _Open(at, _CLOSING[token])
        elif (token, self.texts[at + 1]) == ("ref", "("):
            self.at += 2
            opened = _Open(at, ")", make=_ref_type)
        elif self.texts[at + 1] == "[" and self._takes_types(token, are_values):
            self.at += 2
            opened = _Open(at, "]", make=partial(TypeCall, self._named(token, at)))
        else:
            expected = _expected(waiting, "a value" if are_values else "a type")
            if are_values:
                return self._value_leaf(expected)
            return _Nested(self.type_leaf(expected))
        if self.texts[self.at] != opened.closing:
            waiting.append(opened)
            return None
        return self._close(waiting, opened)

    def _continue(self, waiting: list[_Open], part: _Nested) -> _Nested | None:
        """Take in a part, and return the whole if it was the last one."""
        opened = waiting[-1]
        opened.parts.append(part)
        closing = opened.closing
        if not closing:
            waiting.pop()
            return self._made(opened)
        if closing == "}" and len(opened.parts) % 2:
            self.expect(":")
            return None
        comma = self.is_next(",")
        if comma and (self.texts[self.at] != closing or opened.type_params is not None):
            return None
        if self.texts[self.at] != closing:
            self.fail(" or ".join(sorted(("','", f"'{closing}'"))))
        waiting.pop()
        is_plain = opened.type_params is None and opened.make is None
        if closing == ")" and is_plain and not comma and len(opened.parts) == 1:
            self.at += 1
            return part
        return self._close(waiting, opened)

    def _close(self, waiting: list[_Open], opened: _Open) -> _Nested | None:
        self.at += 1
        if opened.type_params is None:
            return self._made(opened)
        self.expect("->")
        opened.closing = ""
        waiting.append(opened)
        return None

    def _made(self, opened: _Open) -> _Nested:
        """Return what has its parts, if these are not nested too deep."""
        depth = 1 + max((part.depth for part in opened.parts), default=0)
        values = tuple([part.value for part in opened.parts])
        place, problem = self.span(opened.begin, opened.begin), ""
        if opened.type_params is not None:
            self.end_type_params(opened.type_params)
        if depth > MAX_NESTING:
            problem = f"nested deeper than {MAX_NESTING} levels"
        else:
            try:
                return _Nested(_whole(opened, values), depth)
            except (SizeLimitError, TypeError) as error:
                problem = str(error)
        self.problems.report(place, problem)
        return _Nested(TupleType(()))

    def _takes_types(self, token: str, are_values: bool) -> bool:
        """Return whether a name before a bracket is that of a type."""
        if token in self.defined_types:
            return True
        return is_name(token) and token != "Tensor" and not are_values

    def _named(self, token: str, at: int) -> GlobalTypeVar:
        found = self.defined_types.get(token)
        if found is None:
            place, known = self.span(at, at), self.defined_types
            self.problems.report_unknown(place, "type named", token, known)
            found = GlobalTypeVar(str(token))
        return found

    def _value_leaf(self, expected: str) -> _Nested:
        at = self.at
        token = self.texts[at]
        known = self._values.get(token)
        if known is not None:
            self.at = at + 1
            return known
        if self.is_number(at):
            found = _Nested(self.number(read_number, 0))
            if token != "-" and not self.problems:
                self._values[token] = found
            return found
        if is_string(token):
            self.at += 1
            return _Nested(self.converted((at, at), token, read_name, ""))
        if token == "-" and self.texts[at + 1] in _NON_FINITE and self.are_adjacent(at):
            self.at += 2
            return _Nested(read_number(token + self.texts[at + 1]))
        if not is_name(token):
            self.fail(expected)
        if self.type_names[token] > 0 or self.begins_type(token):
            return _Nested(self.type_leaf(expected))
        place = self.span(at, at)
        self.problems.report(place, f"expected a value; is '\"{token}\"' meant?")
        self.at += 1
        return _Nested(None)


def _expected(waiting: Sequence[_Open], part: str) -> str:
    """Return what may stand where a part is due, in words."""
    closing = waiting[-1].closing if waiting else ""
    if closing == ")" and waiting[-1].type_params is not None and waiting[-1].parts:
        closing = ""  # no comma ends the types of a function's arguments
    if closing == "}" and len(waiting[-1].parts) % 2:
        closing = ""
    return f"{part} or '{closing}'" if closing else part


def _ref_type(parts: tuple[Any, ...]) -> Type:
    if len(parts) != 1:
        raise TypeError(f"expected one type in a reference's, got {len(parts)}")
    return RelayRefType(parts[0])


def _whole(opened: _Open, values: tuple[Any, ...]) -> Any:
    if opened.make is not None:
        return opened.make(values)
    if opened.type_params is not None:
        return FuncType(values[:-1], values[-1], opened.type_params)
    if opened.closing == "]":
        return values
    if opened.closing == ")":
        return TupleType(values)
    try:
        return dict(zip(values[::2], values[1::2], strict=True))
    except TypeError:
        raise TypeError("a mapping cannot be a key of another one") from None
