"""The parser of types that are not made of others, and of what binds type variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from parpass.ir.adt import GlobalTypeVar, TypeCall
from parpass.ir.text.cursor import Cursor, is_name
from parpass.ir.text.literals import read_number
from parpass.ir.text.problems import Problems
from parpass.ir.types.ty import Any as UnknownDim
from parpass.ir.types.ty import Dim, IncompleteType, TensorType, Type
from parpass.ir.types.ty import TypeVar as RelayTypeVar
from parpass.runtime.dtypes import DTYPES, WIDTHS, is_vector_dtype

_LARGEST_DIM = 2**63 - 1
_LONGEST_KEY = 64  # tokens


class TypeLeaves(Cursor):
    """Makes types; keeps the type parameters that are in scope.

    Attributes:
        type_names: How often each type parameter is bound in this place.
        defined_types: The types that the text defines, by name.
    """

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self.type_names: Counter[str] = Counter()
        self.defined_types: dict[str, GlobalTypeVar] = {}
        self._known: dict[tuple[str, ...], Any] = {}

    def type_params(self) -> tuple[RelayTypeVar, ...]:
        """Read `<A, B>` or `[A, B]`, if there is any, and begin their scope."""
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
        """Read a type that is not made of others, as tuples are.

        Args:
            expected: What may stand here, in words.
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
        """Read what ends with a bracket; the same tokens give the same object.

        The first bracket that closes may close something else, so whether the tokens
        up to it are the whole is known when it has been read once.
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
        """Read `Tensor[(1, ?), float32]`."""
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
