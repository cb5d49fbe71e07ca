"""The parser of types and of attribute values, which may contain types.

What has parts is parsed by rules, as `rules.py` runs them. `TypeLeaves` parses types
without parts, and binds type parameters.
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
from parpass.ir.text.grammar_rules import Rule, run_rule
from parpass.ir.text.literals import WORDS, Attribute, read_name, read_number
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
from parpass.ir.types.type_structure import MAX_NESTING
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


class _Nested(NamedTuple):
    """A type or a value, and its nesting depth."""

    value: Any
    depth: int = 0


_NON_FINITE = {f"{word}f": word for word in WORDS}
_WORDS = {str(value): _Nested(value) for value in (True, False, None)}


class TypeParser(TypeLeaves):
    """Parses types and values."""

    def __init__(self, problems: ErrorList) -> None:
        super().__init__(problems)
        self._values = dict(_WORDS)

    def type(self) -> Type:
        """Parse a type."""
        return self._type_or_value(are_values=False)

    def value(self) -> Any:
        """Parse the value of an attribute; a sequence becomes a tuple."""
        read = partial(self._type_or_value, are_values=True)
        return self.known_or(read) if self.texts[self.at] == "[" else read()

    def attribute(self) -> Attribute:
        """Parse `name=value`."""
        at = self.at
        place = self.span(at, at)
        name = self.converted((at, at), self.texts[at], read_name, "")
        self.at += 1
        self.expect("=")
        return Attribute(name, self.value(), place)

    def _type_or_value(self, *, are_values: bool) -> Any:
        rule = self._composed(are_values=are_values)
        found = run_rule(rule) if rule else self._simple_part("", are_values=are_values)
        return found.value

    def _simple_part(self, closing: str, *, are_values: bool) -> _Nested:
        """Parse a type or value without parts, where a token could end a list."""
        expected = "a value" if are_values else "a type"
        if closing:
            expected = f"{expected} or '{closing}'"
        if are_values:
            return self._value_leaf(expected)
        return _Nested(self.type_leaf(expected))

    def _part(self, closing: str = "", *, are_values: bool = False) -> Rule:
        rule = self._composed(are_values=are_values)
        return (
            (yield rule) if rule else self._simple_part(closing, are_values=are_values)
        )

    def _composed(self, *, are_values: bool) -> Rule | None:
        """Return the rule for what begins here; None if that has no parts."""
        at = self.at
        token, following = self.texts[at], self.texts[at + 1]
        if token == "fn":
            return self._function_type(at)
        if token == "(":
            return self._tuple_type(at)
        if are_values and token == "[":
            return self._sequence_value(at)
        if are_values and token == "{":
            return self._mapping_value(at)
        if token == "ref" and following == "(":
            return self._applied(at, ")", _ref_type)
        if following == "[" and self._takes_types(token, are_values):
            make = partial(TypeCall, self._named(token, at))
            return self._applied(at, "]", make)
        return None

    def _parts(self, closing: str, *, are_values: bool = False) -> Rule:
        """Parse parts with commas between, and what closes them.

        Returns:
            The parts, and whether a comma is behind the last one.
        """
        found: list[_Nested] = []
        comma = True
        while comma and self.texts[self.at] != closing:
            found.append((yield self._part(closing, are_values=are_values)))
            comma = self._comma_or(closing)
        self.at += 1
        return found, comma

    def _comma_or(self, closing: str) -> bool:
        """Go over a comma, if there is one; what closes the parts may come instead."""
        if self.is_next(","):
            return True
        if self.texts[self.at] != closing:
            self.fail(" or ".join(sorted(("','", f"'{closing}'"))))
        return False

    def _function_type(self, begin: int) -> Rule:
        self.at += 1
        type_params = self.type_params()
        self.expect("(", "'('" if type_params else "'<', '(' or '['")
        parts: list[_Nested] = []
        comma = self.texts[self.at] != ")"
        while comma:
            # No comma ends the types of a function's arguments.
            parts.append((yield self._part("" if parts else ")")))
            comma = self._comma_or(")")
        self.at += 1
        self.expect("->")
        parts.append((yield self._part()))
        self.end_type_params(type_params)
        return self._composed_of(
            begin, parts, lambda types: FuncType(types[:-1], types[-1], type_params)
        )

    def _tuple_type(self, begin: int) -> Rule:
        self.at += 1
        parts, comma = yield self._parts(")")
        if len(parts) == 1 and not comma:
            return parts[0]
        return self._composed_of(begin, parts, TupleType)

    def _sequence_value(self, begin: int) -> Rule:
        self.at += 1
        parts, _ = yield self._parts("]", are_values=True)
        return self._composed_of(begin, parts, tuple)

    def _applied(
        self, begin: int, closing: str, make: Callable[[tuple[Any, ...]], Type]
    ) -> Rule:
        """Parse a type that is made of others in brackets behind its name."""
        self.at += 2
        parts, _ = yield self._parts(closing)
        return self._composed_of(begin, parts, make)

    def _mapping_value(self, begin: int) -> Rule:
        self.at += 1
        parts: list[_Nested] = []
        comma = True
        while comma and self.texts[self.at] != "}":
            parts.append((yield self._part("}", are_values=True)))
            self.expect(":")
            parts.append((yield self._part(are_values=True)))
            comma = self._comma_or("}")
        self.at += 1
        return self._composed_of(begin, parts, _dict_of)

    def _composed_of(
        self,
        begin: int,
        parts: Sequence[_Nested],
        make: Callable[[tuple[Any, ...]], Any],
    ) -> _Nested:
        """Return the construct made of its parts, its depth checked."""
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > MAX_NESTING:
            problem = f"nested deeper than {MAX_NESTING} levels"
        else:
            try:
                return _Nested(make(tuple([part.value for part in parts])), depth)
            except (SizeLimitError, TypeError) as error:
                problem = str(error)
        self.problems.report(self.span(begin, begin), problem)
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


def _ref_type(parts: tuple[Any, ...]) -> Type:
    if len(parts) != 1:
        raise TypeError(f"expected one type in a reference's, got {len(parts)}")
    return RelayRefType(parts[0])


def _dict_of(values: tuple[Any, ...]) -> dict[Any, Any]:
    """Return a mapping from keys and values in turn."""
    try:
        return dict(zip(values[::2], values[1::2], strict=True))
    except TypeError:
        raise TypeError("a mapping cannot be a key of a mapping") from None
