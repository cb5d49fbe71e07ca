"""Actions of the grammar for expressions; see `type_actions` for what an action is.

A node is made as soon as its text has been read, and names get their meanings at that
time, so no tree is built besides the program, and nothing recurses along it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from lark import Token

from parpass.diagnostic import Span
from parpass.errors import UnknownOpError
from parpass.ir.op_table import Op
from parpass.ir.text.literals import (
    Attribute,
    dict_attrs,
    name_text,
    read_name,
    read_scalar,
)
from parpass.ir.types import Type
from parpass.ir.types import TypeVar as RelayTypeVar
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.text.call_parser import operator_attrs
from parpass.runtime.ndarray import NDArray
from tests.support.lark_text.environment import Environment
from tests.support.lark_text.infix import Grouping, Read, Sign, joined
from tests.support.lark_text.token_problems import TokenProblems
from tests.support.lark_text.type_actions import Nested, Parts, TypeActions, signed

_ZERO = read_scalar("0")


class Head(NamedTuple):
    """A function up to its body; `place` is its `fn` or `def`."""

    place: Token
    type_params: Sequence[RelayTypeVar]
    params: Sequence[Var]
    attributes: Sequence[Attribute]
    ret_type: Type | None


class LetHead(NamedTuple):
    """A let up to its value."""

    name: Token
    var: Var
    equal: Token


class ExprActions(TypeActions):
    """Makes expressions; keeps the names that are in scope.

    Args:
        problems: Takes the errors.
        constants: What `meta[relay.Constant][0]` and so on stand for; None if the text
            has no section for them.
    """

    def __init__(
        self, problems: TokenProblems, constants: Sequence[NDArray] | None
    ) -> None:
        super().__init__(problems)
        self.names = Environment()
        self.global_vars: dict[str, GlobalVar] = {}
        self.global_uses: dict[str, Token] = {}
        self._constants = constants
        self._scalars: dict[str, NDArray] = {}
        self._let: LetHead | None = None  # the last one

    def variable(self, parts: Parts) -> Read:
        """Return what a name means here."""
        (token,) = parts
        found = self.names.get(self._key(token))
        if found is None:
            self.problems.report_unknown_at(token, "variable named")
            found = Var(self._name(token))
        return Read(found, self.problems.span(token))

    def global_var(self, parts: Parts) -> Read:
        """Return the global variable of a name, the same one each time."""
        (token,) = parts
        name = self._name(token)
        self.global_uses.setdefault(name, token)
        return Read(self.global_named(token), self.problems.span(token))

    def operator(self, parts: Parts) -> Read:
        """Return the operator of a name."""
        (token,) = parts
        span = self.problems.span(token)
        with contextlib.suppress(UnknownOpError):
            return Read(Op.get(str(token)), span)
        if self.names.get(str(token)) is not None:
            message = f"no operator named '{token}'; is the variable '%{token}' meant?"
            self.problems.report_at(token, message)
        else:
            self.problems.report_unknown_at(token, "operator named")
        return Read(Var(str(token)), span)

    def scalar(self, parts: Parts) -> Read:
        """Return a number as a constant."""
        (token,) = parts
        data = self._scalars.get(token)
        if data is None:
            data = self.read(token, lambda text: read_scalar(signed(text)), _ZERO)
            self._scalars[token] = data
        span = self.problems.span(token)
        return Read(Constant(data, span), span)

    boolean = scalar

    def constant(self, parts: Parts) -> Read:
        """Return a constant that stands in the section at the end of the text."""
        (token,) = parts
        span = self.problems.span(token)
        known = self._constants
        digits = token.rpartition("[")[2][:-1]
        number = int(digits) if len(digits) < 10 else 10**10
        if known is None:
            self.problems.report_at(token, "the text has no section of constants")
        elif number >= len(known):
            count = len(known)
            self.problems.report_at(
                token, f"the text has {count} constants in its section"
            )
        else:
            return Read(Constant(known[number], span), span)
        return Read(Constant(_ZERO, span), span)

    def infix(self, parts: Parts) -> Read:
        """Return operands joined by `+`, `<` and so on, or with a minus before them."""
        span = self.problems.span
        row = [
            part if isinstance(part, Read) else Sign(str(part), span(part))
            for part in parts
        ]
        return Grouping().group(row)

    def tuple(self, parts: Parts) -> Read:
        """Return `(a, b)`."""
        opening, *fields, closing = parts
        span = self.problems.span(opening, closing)
        return Read(Tuple(tuple([field.expr for field in fields]), span), span)

    def parenthesized(self, parts: Parts) -> Read:
        """Return what stands between parentheses that only group."""
        opening, (expr, _), closing = parts
        return Read(expr, self.problems.span(opening, closing))

    def projection(self, parts: Parts) -> Read:
        """Return `a.0`."""
        (expr, start), token = parts
        index = self.read(token, _index, 0)
        span = joined(start, self.problems.span(token))
        return Read(TupleGetItem(expr, index, span), span)

    def call(self, parts: Parts) -> Read:
        """Return `f<T>(a, b, key=value)`."""
        (callee, start), type_args, *given, closing = parts
        args = tuple([part.expr for part in given if isinstance(part, Read)])
        span = joined(start, self.problems.span(closing))
        attributes: list[Attribute] = []
        if len(args) != len(given):
            attributes = [part for part in given if isinstance(part, Attribute)]
        if isinstance(callee, Op):
            attrs = operator_attrs(callee, attributes, start, self.problems)
        else:
            attrs = dict_attrs(attributes, self.problems)
        return Read(Call(callee, args, attrs, type_args or (), span), span)

    def type_args(self, parts: Parts) -> tuple[Type, ...]:
        """Return `<T1, T2>`."""
        return tuple([nested.value for nested in parts[1:]])

    def if_(self, parts: Parts) -> Read:
        """Return `if (c) {a} else {b}`."""
        first, (cond, _), (true, _), (false, end) = parts
        span = joined(self.problems.span(first), end)
        return Read(If(cond, true, false, span), span)

    def open(self, parts: Parts) -> Token:
        """Begin the scope of a block."""
        self.names.open()
        return parts[0]

    def block(self, parts: Parts) -> Read:
        """End the scope of a block and return its value."""
        opening, (expr, _), closing = parts
        self.names.close()
        return Read(expr, self.problems.span(opening, closing))

    def binding(self, parts: Parts) -> None:
        """Give an expression a name, for the lines below."""
        name, (expr, _) = parts
        if not self.names.define_line(self._key(name), expr):
            self.problems.report_at(name, f"'{name}' is defined twice in this block")

    def let_head(self, parts: Parts) -> tuple[Token, Token, Var]:
        """Return a let's variable, which its value may refer to if it is a function."""
        place, name, type_, equal = parts
        var = self._var(name, type_)
        self._let = LetHead(name, var, equal)
        return place, name, var

    def let(self, parts: Parts) -> tuple[Token, Var, Expr]:
        """Begin the scope of a let's variable."""
        (place, name, var), (value, _) = parts
        self.names.bind(self._key(name), var)
        return place, var, value

    def sequence(self, parts: Parts) -> tuple[Span, Var, Expr]:
        """Return an expression of which the value is not used."""
        ((value, span),) = parts
        return span, Var("_", None, span), value

    def body(self, parts: Parts) -> Read:
        """Return the expression that ends a block, in the lets before it."""
        *lines, (expr, span) = parts
        for line in reversed(lines):
            if line is not None:
                place, var, value = line
                first = place if isinstance(place, Span) else self.problems.span(place)
                span = joined(first, span)
                expr = Let(var, value, expr, span)
        return Read(expr, span)

    def parameter(self, parts: Parts) -> tuple[Token, Nested | None]:
        """Return a parameter's name and type."""
        name, type_ = parts
        return name, type_

    def parameters(self, parts: Parts) -> tuple[Sequence[Var], Sequence[Attribute]]:
        """Begin the scope of the parameters; attributes may stand among them."""
        self.names.open()
        params: dict[str, Var] = {}
        attributes: list[Attribute] = []
        for part in parts:
            if isinstance(part, Attribute):
                attributes.append(part)
                continue
            token, type_ = part
            var = self._bind(token, type_)
            if params.setdefault(self._key(token), var) is not var:
                self.problems.report_at(token, f"parameter '{token}' is given twice")
        return tuple(params.values()), attributes

    def function_head(self, parts: Parts) -> Head:
        """Return a function up to its body."""
        place, type_params, (params, attributes), result = parts
        self._bind_own_name(place, params)
        ret_type = None if result is None else result.value
        return Head(place, type_params or (), params, attributes, ret_type)

    def _bind_own_name(self, place: Token, params: Sequence[Var]) -> None:
        """Let a function refer to the variable of the let that it is the value of."""
        let, self._let = self._let, None
        if let is None or not self.problems.is_blank(let.equal, place):
            return
        key = self._key(let.name)
        if key not in {name_text(param.name_hint) for param in params}:
            self.names.bind(key, let.var)

    def function(self, parts: Parts) -> Read:
        """Return a closure."""
        head, body = parts
        made = self.end_function(head, body)
        return Read(made, joined(self.problems.span(head.place), body.span))

    def end_function(self, head: Head, body: Read) -> Function:
        """End the scope of a function and return it."""
        self.names.close()
        self.end_type_params(head.type_params)
        return Function(
            tuple(head.params),
            body.expr,
            head.ret_type,
            tuple(head.type_params),
            dict_attrs(head.attributes, self.problems),
            joined(self.problems.span(head.place), body.span),
        )

    def free_var(self, parts: Parts) -> None:
        """Declare a variable that an expression lacks."""
        name, type_ = parts
        if self.names.get(self._key(name)) is not None:
            self.problems.report_at(name, f"'{name}' is declared twice")
        self._bind(name, type_)

    def global_named(self, token: Token) -> GlobalVar:
        """Return the one global variable of a name."""
        name = self._name(token)
        found = self.global_vars.get(name)
        if found is None:
            span = self.problems.span(token)
            found = self.global_vars[name] = GlobalVar(name, span)
        return found

    def _bind(self, token: Token, type_: Nested | None) -> Var:
        var = self._var(token, type_)
        self.names.bind(self._key(token), var)
        return var

    def _var(self, token: Token, type_: Nested | None) -> Var:
        annotation = None if type_ is None else type_.value
        return Var(self._name(token), annotation, self.problems.span(token))

    def _key(self, token: Token) -> str:
        """Return a name as it would be printed: `%"0"` is not `%0`, that of a line."""
        return token[1:] if token[1] != '"' else name_text(self._name(token))

    def _name(self, token: Token) -> str:
        """Return the name that follows a sigil."""
        name = token[1:]
        if name[:1] == '"':
            return self.read(token, _quoted_name, "")
        return name


def _quoted_name(text: str) -> str:
    return read_name(text[1:])


def _index(text: str) -> int:
    digits = text[1:]
    if len(digits) > 9:
        raise ValueError(f"a tuple has no field '{digits[:40]}'")
    return int(digits)
