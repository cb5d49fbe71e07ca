"""The parser of calls and their attributes, with a fast path for whole lines.

The scanner takes a line such as `%2 = add(%0, %1);`, which most lines are, for one
token. If all names in it are known, and the same attributes have been read before, its
meaning is looked up from its pieces. Any other line is scanned again, token by token.
Attributes are checked against those that the operator declares.
"""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Op
from parpass.ir.text.cursor import is_name, is_string
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.grammar_rules import Rule
from parpass.ir.text.lexer import without_comments
from parpass.ir.text.literals import Attribute, by_name, dict_attrs
from parpass.ir.types import Type
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.op.declaration.attributes import attr_fields
from parpass.relay.text.leaf_parser import REFERENCES, LeafParser
from parpass.runtime.ndarray import NDArray


def operator_attrs(
    op: Op, attributes: Sequence[Attribute], place: Span, problems: ErrorList
) -> Attrs | None:
    """Return the attributes of a call of an operator.

    Args:
        op: The operator.
        attributes: Those that the text has.
        place: Where the call is.
        problems: Takes the errors.
    """
    kind = op.attrs_type
    if kind is None:
        for attribute in attributes:
            problems.report(attribute.place, f"'{op.name}' has no attributes")
        return None
    given = by_name(attributes, problems)
    fields = attr_fields(kind)
    values: dict[str, Any] = {}
    for attribute in attributes:
        field = fields.get(attribute.name)
        if field is None:
            what = f"attribute of '{op.name}' named"
            problems.report_unknown(attribute.place, what, attribute.name, fields)
            continue
        try:
            values[field.name] = field.stored(attribute.value, op.name)
        except IRTypeError as error:
            what = f"attribute '{attribute.name}' of '{op.name}'"
            words = error if field.convert else _misfit(attribute.value, field.kind)
            problems.report(attribute.place, f"{what}: {words}")
    missing = [one for one in _required(kind) if one not in given]
    for name in missing:
        problems.report(place, f"'{op.name}' needs the attribute '{name}'")
    return None if missing or values.keys() != given.keys() else kind(**values)


def _misfit(value: Any, kind: Any) -> str:
    """Return why a value is not of a type: msgspec's message, begun as ours are."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # Without its path into the value.
        message = re.sub(r" - at `\$(.*)`$", "", str(error)).replace("`", "'")
        message = message.replace("'array'", "a sequence").replace("'str'", "a string")
        return message[:1].lower() + message[1:]
    return "expected another value"


@functools.cache
def _required(kind: type[Attrs]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(kind) if field.required]


class LetHead(NamedTuple):
    """A let up to its value, and where it begins in the chunk."""

    begin: int
    key: str
    var: Var


class Block:
    """The lines of a block that have been read.

    Attributes:
        lets: The lets, with their values.
        lines: The names of the others.
    """

    __slots__ = ("lets", "lines")

    def __init__(self) -> None:
        self.lets: list[tuple[LetHead, Expr]] = []
        self.lines: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self.lets or self.lines)


_REFERENCES: dict[str, tuple[type[Any], int]] = {
    "ref": (RefCreate, 1),
    "ref_read": (RefRead, 1),
    "ref_write": (RefWrite, 2),
}
_TRUTHS = {"True", "False"}  # names elsewhere, never those of arguments


class CallParser(LeafParser, ABC):
    """Makes calls."""

    @abstractmethod
    def expr(self, expected: str = "an expression", let: LetHead | None = None) -> Rule:
        """Read an expression.

        Args:
            expected: The valid tokens where it begins, in words, for the error message.
            let: The let of which it is the value.
        """

    def call(self, callee: Expr, begin: int, type_args: tuple[Type, ...] = ()) -> Rule:
        """Read a call from its parenthesis on.

        Args:
            callee: What is called.
            begin: The token at which it begins.
            type_args: The arguments for its type parameters.
        """
        self.at += 1
        args: list[Expr] = []
        attributes: list[Attribute] = []
        while self.texts[self.at] != ")":
            at = self.at
            token, expected = self.texts[at], "')' or ','"
            if self.texts[at + 1] == "=" and self._is_attribute_name(token):
                attributes.append(self.attribute())
            else:
                arg = self.part_of_one_token()
                if arg is None:
                    arg = yield self.expr("an argument or ')'")
                    if self.at == at + 1 and self._is_attribute_name(self.texts[at]):
                        expected = "')', ',' or '='"
                args.append(arg)
            if not self.is_next(",") and self.texts[self.at] != ")":
                self.fail(expected)
        self.at += 1
        return self._made_call(callee, begin, type_args, args, attributes)

    def part_of_one_token(self) -> Expr | None:
        """Read an argument or a field of one token; None if it is not one."""
        at = self.at
        if self.texts[at + 1] not in {",", ")"}:
            return None
        found = self.names.meanings.get(self.texts[at])
        if found is None:
            return self.leaf()
        self.at = at + 1
        return found

    @staticmethod
    def _is_attribute_name(token: str) -> bool:
        return is_string(token) or (is_name(token) and token not in _TRUTHS)

    def _made_call(
        self,
        callee: Expr,
        begin: int,
        type_args: tuple[Type, ...],
        args: Sequence[Expr],
        attributes: Sequence[Attribute],
    ) -> Expr:
        place, span = self.span(begin, begin), self.span(begin, self.at - 1)
        if isinstance(callee, Var) and REFERENCES.get(callee.name_hint) is callee:
            has_more = bool(attributes or type_args)
            return self._reference(callee.name_hint, args, span, has_more=has_more)
        if isinstance(callee, Op):
            attrs = operator_attrs(callee, attributes, place, self.problems)
        else:
            attrs = dict_attrs(attributes, self.problems)
        return Call(callee, tuple(args), attrs, type_args, span)

    def _reference(
        self, word: str, args: Sequence[Expr], span: Span, *, has_more: bool
    ) -> Expr:
        """Return what `ref(...)`, `ref_read(...)` or `ref_write(...)` stands for."""
        kind, count = _REFERENCES[word]
        if len(args) != count or has_more:
            plural = "" if count == 1 else "s"
            message = f"expected {count} argument{plural} for '{word}', and no more"
            self.problems.report(span, message)
            return Tuple((), span)
        return kind(*args, span=span)


_INDEX = re.compile("[0-9]{1,9}")


# The name of a line, what is called, the arguments, and the attributes as they stand.
_Parts = tuple[str, str, Sequence[str], str]


class LineParser(CallParser):
    """Reads lines at a glance."""

    def __init__(
        self, problems: ErrorList, constants: Sequence[NDArray] | None
    ) -> None:
        super().__init__(problems, constants)
        self._attrs: dict[tuple[Op, str], Attrs] = {}

    def line(self, block: Block) -> bool:
        """Read a line of a block, if all of it is known; return whether it was."""
        line, meanings = _without_types(self.texts[self.at]), self.names.meanings
        name, callee_name, names, attributes = _parts(line)
        callee = meanings.get(callee_name)
        attrs = None
        if isinstance(callee, Op):
            if attributes or callee.attrs_type is not None:
                attrs = self._attrs.get((callee, attributes))
                if attrs is None or self.type_names:
                    return False
        elif callee is None or attributes:
            return False
        start = self.starts[self.at]
        begin = start + len(name) + 3
        try:
            args = tuple([meanings[name] for name in names])
        except KeyError:
            args = self._made_of(names, begin + len(callee_name) + 1)
        if args is None or name in block.lines:
            return False
        call = Call(callee, args, attrs, (), self.stretch(begin, start + len(line) - 1))
        if name[0] == "%":
            block.lines.add(name)
            self.names.bind(name, call)
        else:
            name = name[4:]  # after the let
            var = Var(name[1:], None, self.stretch(start + 4, begin - 3))
            self.bind_let(block, LetHead(start, name, var), call)
        self.at += 1
        return True

    def bind_let(self, block: Block, let: LetHead, value: Expr) -> None:
        """Give a let's variable its name, for the lines below."""
        block.lets.append((let, value))
        block.lines.discard(let.key)
        self.names.bind(let.key, let.var)

    def _made_of(self, texts: Sequence[str], start: int) -> tuple[Expr, ...] | None:
        """Return what arguments stand for, None if one is not known.

        Args:
            texts: The arguments.
            start: Where the first one begins.
        """
        args: list[Expr] = []
        for whole in texts:
            text = whole.rstrip(" ")  # where a comment was
            stop = start + len(text)
            found = self.names.meanings.get(text)
            if found is None:
                found = self._constant_or_field(text, self.stretch(start, stop))
            if found is None:
                return None
            args.append(found)
            start += len(whole) + 2
        return tuple(args)

    def _constant_or_field(self, text: str, span: Span) -> Expr | None:
        data = self.known_data(text)
        if data is not None:
            return Constant(data[0], span, data[1])
        of, _, index = text.partition(".")
        found = self.names.meanings.get(of)
        if found is None or not _INDEX.fullmatch(index):
            return None
        return TupleGetItem(found, int(index), span)

    def remember_attributes(self, call: Expr) -> None:
        """Cache the attributes of a line that has been read token by token."""
        assert self.outer is not None
        texts, _, at = self.outer
        _, _, args, attributes = _parts(_without_types(texts[at]))
        if not isinstance(call, Call) or self.problems or self.type_names:
            return
        # As many arguments as there are before the attributes: so there are none after.
        if isinstance(call.op, Op) and len(call.args) == len(args) and call.attrs:
            self._attrs[call.op, attributes] = call.attrs


def _without_types(line: str) -> str:
    """Return a line with blanks for comments, and nothing for one before its end."""
    if "/*" not in line:
        return line
    bare, _, _ = line.rpartition(") /* ty=")
    if line[-3:] == "*/;" and "/*" not in bare:
        return f"{bare});"  # nearly always: the type of the call is the only one
    return f"{without_comments(line[:-1]).rstrip(' ')};"


def _parts(line: str) -> _Parts:
    name, _, call = line.partition(" = ")
    callee, _, given = call.partition("(")
    given = given[:-2]
    equal = given.find("=")
    if equal < 0:
        return name, callee, given.split(", ") if given else (), ""
    end = given.rfind(", ", 0, equal)
    if end < 0:
        return name, callee, (), given
    return name, callee, given[:end].split(", "), given[end + 2 :]
