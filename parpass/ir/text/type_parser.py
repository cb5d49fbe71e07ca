"""The parser of types and of attribute values, which may contain types.

It does not recurse along the text: open constructs, such as an unfinished list, are on
a stack. `TypeLeaves` parses types without parts, and binds type parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from parpass.errors import SizeLimitError
from parpass.ir.adt import GlobalTypeVar, TypeCall
from parpass.ir.text.cursor import Cursor, is_name, is_string
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.literals import WORDS, Attribute, read_name, read_number
from parpass.ir.type_structure import MAX_NESTING
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import (
    Dim,
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
)
from parpass.ir.types import TypeVar as RelayTypeVar
from parpass.runtime.dtypes import DTYPES, WIDTHS, is_vector_dtype

_LARGEST_DIM = 2**63 - 1
_LONGEST_KEY = 64  # tokens


class TypeLeaves(Cursor):
    """Parses types without parts, and keeps the type parameters in scope.

    Attributes:
        type_names: How often each type parameter is bound in this place.
        defined_types: The types that the text defines, by name.
    """

    def __init__(self, problems: ErrorList) -> None:
        super().__init__(problems)
        self.type_names: Counter[str] = Counter()
        self.defined_types: dict[str, GlobalTypeVar] = {}
        self._known: dict[tuple[str, ...], Any] = {}

    def type_params(self) -> tuple[RelayTypeVar, ...]:
        """Parse `<A, B>` or `[A, B]`, if present, and begin their scope."""
        opening = self.texts[self.at]
        if opening not in {"<", "["}:
            return ()
        given: dict[str, None] = {}
        names: list[str] = []
        while not names or self.is_next(","):
            self.at += 0 if names else 1
            at = self.expect_name()
            name = self.texts[at]
            if name in given:
                message = f"type parameter '{name}' is given twice"
                self.problems.report(self.span(at, at), message)
            given[name] = None
            names.append(name)
            self.type_names[name] += 1
        closing = ">" if opening == "<" else "]"
        self.expect(closing, f"',' or '{closing}'")
        return tuple(map(RelayTypeVar, names))

    def end_type_params(self, params: Sequence[RelayTypeVar]) -> None:
        """End the scope of type parameters."""
        for param in params:
            name = param.name_hint
            self.type_names[name] -= 1
            if not self.type_names[name]:
                del self.type_names[name]

    def begins_type(self, token: str) -> bool:
        """Return whether a name is that of a type, or begins one."""
        is_type = token == "Tensor" or _dtype_named(token) is not None
        return is_type or token in self.defined_types

    def type_leaf(self, expected: str) -> Type:
        """Parse a type that is not composed, as tuples are.

        Args:
            expected: The valid tokens, in words, for the error message.
        """
        at = self.at
        token = self.texts[at]
        if token == "Tensor":
            return self.known_or(self._tensor_type)
        if not is_name(token):
            self.fail(expected)
        self.at = at + 1
        if self.type_names[token] > 0:
            return RelayTypeVar(token)
        if token == "_":
            return IncompleteType()
        if token in self.defined_types:
            return TypeCall(self.defined_types[token], ())
        dtype = _dtype_named(token)
        if dtype is None:
            known = chain(DTYPES, ["Tensor"], self.type_names, self.defined_types)
            place = self.span(at, at)
            self.problems.report_unknown(place, "type named", token, known)
            return RelayTypeVar(token)
        return TensorType((), dtype)

    def known_or(self, read: Callable[[], Any]) -> Any:
        """Parse a construct that ends with a bracket; equal tokens give one object.

        The first closing bracket may close an inner construct, so whether the tokens up
        to it are the whole construct is known after it has been parsed once.
        """
        texts, begin = self.texts, self.at
        try:
            end = texts.index("]", begin, begin + _LONGEST_KEY)
        except ValueError:
            return read()
        key = tuple(texts[begin:end])
        known = self._known.get(key)
        if known is not None and not self.type_names:
            self.at = end + 1
            return known
        found = read()
        if self.at == end + 1 and not self.problems and not self.type_names:
            self._known[key] = found
        return found

    def _tensor_type(self) -> Type:
        """Parse `Tensor[(1, ?), float32]`."""
        self.at += 1
        self.expect("[")
        self.expect("(")
        shape: list[Dim] = []
        while self.texts[self.at] != ")":
            shape.append(self._dim())
            if not self.is_next(",") and self.texts[self.at] != ")":
                self.fail("')' or ','")
        self.at += 1
        self.expect(",")
        made = TensorType(tuple(shape), self._dtype())
        self.expect("]")
        return made

    def _dim(self) -> Dim:
        if self.is_next("?"):
            return UnknownDim()
        if not self.is_number(self.at):
            self.fail("')', '?' or a number")
        return self.number(_dimension, 0)

    def _dtype(self) -> str:
        at = self.expect_name()
        token = self.texts[at]
        dtype = _dtype_named(token)
        if dtype is not None:
            return dtype
        self.problems.report_unknown(self.span(at, at), "dtype named", token, DTYPES)
        return "float32"


def _dtype_named(token: str) -> str | None:
    name = WIDTHS.get(token, token)
    return name if name in DTYPES or is_vector_dtype(name) else None


def _dimension(text: str) -> int:
    number = read_number(text)
    if not text.isdigit() or number > _LARGEST_DIM:
        raise ValueError(
            f"expected a dimension, an int from 0 on or '?', got '{text[:40]}'"
        )
    return int(number)


_HAVE_VALUES = {"]", "}"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class _Nested(NamedTuple):
    """A type or a value, and its nesting depth."""

    value: Any
    depth: int = 0


_NON_FINITE = {f"{word}f": word for word in WORDS}
_WORDS = {str(value): _Nested(value) for value in (True, False, None)}


class _Open:
    """An unfinished type or value.

    Attributes:
        begin: The token at which it begins.
        closing: The token that ends its parts; none for a function's type whose result
            comes next.
        type_params: Those of a function's type; None for all others.
        make: Makes a type of its parts, if it is neither that nor a tuple.
        parts: The parsed parts; keys and values of a mapping in turn.
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
    """Parses types and values."""

    def __init__(self, problems: ErrorList) -> None:
        super().__init__(problems)
        self._values = dict(_WORDS)

    def type(self) -> Type:
        """Parse a type."""
        return self._nested(of_values=False)

    def value(self) -> Any:
        """Parse the value of an attribute; a sequence becomes a tuple."""
        read = partial(self._nested, of_values=True)
        return self.known_or(read) if self.texts[self.at] == "[" else read()

    def attribute(self) -> Attribute:
        """Parse `name=value`."""
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
        """Parse a type or value without parts, or the beginning of one with parts."""
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
        """Add a part, and return the whole if it was the last one."""
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
        """Return the construct made of its parts, its depth checked."""
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
        if self.begins_float_word(_NON_FINITE):
            return _Nested(self.float_word(_NON_FINITE))
        if not is_name(token):
            self.fail(expected)
        if self.type_names[token] > 0 or self.begins_type(token):
            return _Nested(self.type_leaf(expected))
        place = self.span(at, at)
        self.problems.report(place, f"expected a value; is '\"{token}\"' meant?")
        self.at += 1
        return _Nested(None)


def _expected(waiting: Sequence[_Open], part: str) -> str:
    """Return the valid tokens where a part is due, in words."""
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
        raise TypeError("a mapping cannot be a key of a mapping") from None
