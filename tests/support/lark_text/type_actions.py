"""Actions of the grammar for types and for the values of attributes.

An action is called when the parser has read all of a rule, inner rules first, with
what the parts gave: tokens, and the results of other actions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from lark import Token

from parpass.errors import SizeLimitError
from parpass.ir.text.literals import Attribute, float_of_word, read_name, read_number
from parpass.ir.type_structure import MAX_NESTING
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, FuncType, IncompleteType, TensorType, TupleType
from parpass.ir.types import TypeVar as RelayTypeVar
from parpass.runtime.dtypes import DTYPES, WIDTHS, is_vector_dtype
from tests.support.lark_text.token_problems import TokenProblems

_LARGEST_DIM = 2**63 - 1

T = TypeVar("T")
Parts = list[Any]


class Nested(NamedTuple):
    """A type or a value, and how deep others are nested in it."""

    value: Any
    depth: int = 0


class TypeActions:
    """Makes types and values; keeps the type parameters that are in scope."""

    def __init__(self, problems: TokenProblems) -> None:
        self.problems = problems
        self.type_names: Counter[str] = Counter()

    def read(self, token: Token, convert: Callable[[str], T], default: T) -> T:
        """Return what a token stands for; report what cannot be converted."""
        try:
            return convert(token)
        except ValueError as error:
            self.problems.report_at(token, str(error))
            return default

    def type_params(self, parts: Parts) -> tuple[RelayTypeVar, ...]:
        """Begin the scope of the type parameters `<A, B>`."""
        names: list[Token] = parts[1:]
        given: set[str] = set()
        for name in names:
            if name in given:
                self.problems.report_at(name, f"type parameter '{name}' is given twice")
            given.add(name)
            self.type_names[str(name)] += 1
        return tuple(RelayTypeVar(str(name)) for name in names)

    def end_type_params(self, params: Sequence[RelayTypeVar] | None) -> None:
        """End the scope of type parameters."""
        for param in params or ():
            self.type_names[param.name_hint] -= 1

    def named_type(self, parts: Parts) -> Nested:
        """Return a scalar of a dtype, a type parameter, or `_` for an open type."""
        name: Token = parts[0]
        if name == "_" and self.type_names["_"] == 0:
            return Nested(IncompleteType())
        if self.type_names[str(name)] > 0:
            return Nested(RelayTypeVar(str(name)))
        dtype = WIDTHS.get(name, str(name))
        if dtype not in DTYPES and not is_vector_dtype(dtype):
            self.problems.report_unknown_at(name, "type named")
            return Nested(RelayTypeVar(str(name)))
        return Nested(TensorType((), dtype))

    def tensor_type(self, parts: Parts) -> Nested:
        """Return `Tensor[(1, ?), float32]`."""
        _, shape, name = parts
        dtype = WIDTHS.get(name, str(name))
        if dtype not in DTYPES and not is_vector_dtype(dtype):
            self.problems.report_unknown_at(name, "dtype named")
            dtype = "float32"
        return Nested(TensorType(shape, dtype))

    def shape(self, parts: Parts) -> tuple[Dim, ...]:
        """Return the dimensions of a tensor."""
        return tuple(
            UnknownDim() if part == "?" else self.read(part, _dimension, 0)
            for part in parts
        )

    def tuple_type(self, parts: Parts) -> Nested:
        """Return `(T1, T2)`."""
        parenthesis, *fields = parts
        return self._nested(parenthesis, fields, lambda: TupleType(_values(fields)))

    def parenthesized_type(self, parts: Parts) -> Nested:
        """Return the type between parentheses that only group."""
        return parts[1]

    def func_type(self, parts: Parts) -> Nested:
        """Return `fn (T1, T2) -> T`."""
        head, params, *types = parts
        *args, result = types
        self.end_type_params(params)
        made = partial(FuncType, _values(args), result.value, params or ())
        return self._nested(head, types, made)

    def string(self, parts: Parts) -> Nested:
        """Return a string."""
        return Nested(self.read(parts[0], read_name, ""))

    def number(self, parts: Parts) -> Nested:
        """Return an int, or a float, which ends in `f` or has a point."""
        return Nested(self.read(parts[0], _number, 0))

    def truth(self, parts: Parts) -> Nested:
        """Return True or False."""
        return Nested(parts[0] == "True")

    def none(self, _parts: Parts) -> Nested:
        """Return None."""
        return Nested(None)

    def name_value(self, parts: Parts) -> Nested:
        """Return a type that is a value; strings have quotes."""
        (name,) = parts
        is_dtype = name in DTYPES or name in WIDTHS or is_vector_dtype(name)
        if self.type_names[str(name)] > 0 or is_dtype:
            return self.named_type(parts)
        self.problems.report_at(name, f"expected a value; is '\"{name}\"' meant?")
        return Nested(None)

    def list(self, parts: Parts) -> Nested:
        """Return a sequence as a tuple, as attributes store it."""
        bracket, *items = parts
        return self._nested(bracket, items, lambda: _values(items))

    def mapping(self, parts: Parts) -> Nested:
        """Return a mapping."""
        brace, *entries = parts
        nested = [part for entry in entries for part in entry]
        try:
            values = {key.value: value.value for key, value in entries}
        except TypeError:
            self.problems.report_at(brace, "a mapping cannot be a key of a mapping")
            values = {}
        return self._nested(brace, nested, lambda: values)

    def entry(self, parts: Parts) -> tuple[Nested, Nested]:
        """Return a key of a mapping and its value."""
        key, value = parts
        return key, value

    def attribute(self, parts: Parts) -> Attribute:
        """Return `name=value`."""
        name, nested = parts
        place = self.problems.span(name)
        return Attribute(self.read(name, read_name, ""), nested.value, place)

    def _nested(
        self, place: Token, inner: Sequence[Nested], make: Callable[[], Any]
    ) -> Nested:
        depth = 1 + max((part.depth for part in inner), default=0)
        if depth <= MAX_NESTING:
            try:
                return Nested(make(), depth)
            except SizeLimitError as error:
                self.problems.report_at(place, str(error))
        else:
            self.problems.report_at(place, f"nested deeper than {MAX_NESTING} levels")
        return Nested(TupleType(()))


def _values(parts: Sequence[Nested]) -> tuple[Any, ...]:
    return tuple(part.value for part in parts)


def _number(text: str) -> int | float:
    word = text.partition("(")[0]
    if word.endswith(("inff", "nanf")):
        return float_of_word(word[:-1] + text[len(word) :])
    return read_number(signed(text))


def _dimension(text: str) -> int:
    text = signed(text)
    number = read_number(text)
    if not text.isdigit() or number > _LARGEST_DIM:
        raise ValueError(
            f"expected a dimension, an int from 0 on or '?', got '{text[:40]}'"
        )
    return int(number)


def signed(text: str) -> str:
    """Return the text of a number with one sign at most."""
    digits = text.lstrip("-")
    return digits if (len(text) - len(digits)) % 2 == 0 else f"-{digits}"
