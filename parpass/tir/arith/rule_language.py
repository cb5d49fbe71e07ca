"""The language of rewriting rules, and the one engine that matches them.

A rule is a line, `pattern -> replacement`, or `pattern -> replacement if condition`.
What is in it is Python's syntax: `//` and `%` round down, `tdiv` and `tmod` towards
zero; `min`, `max`, `select`, `ramp` and `broadcast` are the nodes. Of the names

    c1, c2, ...   stand for constants: in a replacement and a condition for their values
    n             for the lanes of a vector
    all others    for any expression; the same one each time

A condition is one about constants, and about what an analyzer knows: `nonneg(x * c1)`.
Each rule becomes a function of Python, which is compiled once.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from parpass.errors import InternalError
from parpass.tir.expr import Broadcast, IntImm, Not, PrimExpr, Ramp, Select, binary_op
from parpass.tir.op.const_fold import trunc_div, trunc_mod

BINARY: dict[type[Any], type[PrimExpr]] = {
    ast.Add: binary_op.Add,
    ast.Sub: binary_op.Sub,
    ast.Mult: binary_op.Mul,
    ast.FloorDiv: binary_op.FloorDiv,
    ast.Mod: binary_op.FloorMod,
    ast.Eq: binary_op.EQ,
    ast.NotEq: binary_op.NE,
    ast.Lt: binary_op.LT,
    ast.LtE: binary_op.LE,
    ast.And: binary_op.And,
    ast.Or: binary_op.Or,
}
CALLED: dict[str, type[PrimExpr]] = {
    "tdiv": binary_op.Div,
    "tmod": binary_op.Mod,
    "min": binary_op.Min,
    "max": binary_op.Max,
    "select": Select,
    "ramp": Ramp,
    "broadcast": Broadcast,
}
FIELDS: dict[type[PrimExpr], tuple[str, ...]] = {
    Not: ("a",),
    Select: ("condition", "true_value", "false_value"),
    Ramp: ("base", "stride", "lanes"),
    Broadcast: ("value", "lanes"),
}
CONSTANT = re.compile(r"c\d+|n")


class Term(NamedTuple):
    """A node of a pattern or a replacement: its kind, and its parts."""

    kind: type[PrimExpr]
    parts: list[ast.expr]


def term_of(tree: ast.expr) -> Term | None:
    """Return the node that a piece of text is, or None for a name or a number."""
    match tree:
        case ast.BinOp(left, op, right):
            return Term(BINARY[type(op)], [left, right])
        case ast.Compare(left, [op], [right]):
            return Term(BINARY[type(op)], [left, right])
        case ast.BoolOp(op, [left, right]):
            return Term(BINARY[type(op)], [left, right])
        case ast.UnaryOp(ast.Not(), operand):
            return Term(Not, [operand])
        case ast.Call(ast.Name(name), args) if name in CALLED:
            return Term(CALLED[name], args)
        case _:
            return None


_MARKS = {
    "+": binary_op.Add,
    "*": binary_op.Mul,
    "min": binary_op.Min,
    "max": binary_op.Max,
    "and": binary_op.And,
    "or": binary_op.Or,
    "==": binary_op.EQ,
}


def orders(tree: ast.expr, either: Iterable[str]) -> Iterator[ast.expr]:
    """Yield a pattern with the operands of some operators in each order."""
    kinds = {_MARKS[mark] for mark in either}
    term = term_of(tree)
    if term is None:
        yield tree
        return
    for parts in itertools.product(*[[*orders(one, either)] for one in term.parts]):
        yield _with_parts(tree, [*parts])
        if term.kind in kinds:
            yield _with_parts(tree, [*reversed(parts)])


def _with_parts(tree: ast.expr, parts: list[Any]) -> ast.expr:
    match tree:
        case ast.BinOp(_, op, _):
            return ast.BinOp(parts[0], op, parts[1])
        case ast.Compare(_, ops, _):
            return ast.Compare(parts[0], ops, [parts[1]])
        case ast.BoolOp(op, _):
            return ast.BoolOp(op, parts)
        case ast.UnaryOp(op, _):
            return ast.UnaryOp(op, parts[0])
        case ast.Call(func, _):
            return ast.Call(func, parts, [])
        case _:
            return tree


def is_constant(tree: ast.expr) -> bool:
    """Return whether a piece of text has constants alone."""
    match tree:
        case ast.Name(name):
            return bool(CONSTANT.fullmatch(name))
        case ast.Constant():
            return not isinstance(tree.value, bool)
        case ast.UnaryOp(ast.USub(), operand):
            return is_constant(operand)
        case ast.BinOp(left, _, right):
            return is_constant(left) and is_constant(right)
        case ast.Call(ast.Name(name), args) if name not in ("ramp", "broadcast"):
            return all(map(is_constant, args))
        case _:
            return False


# Given a node and a simplifier, a rule gives what takes its place, or None.
Apply = Callable[[Any, Any], Any]

_COMPUTED = {"tdiv": "trunc_div", "tmod": "trunc_mod", "gcd": "gcd"}


class Rule(NamedTuple):
    """A rule, parsed.

    Attributes:
        text: The line.
        kind: What it is about.
        operands: The kinds that its operands have to be of; None where any will do.
        pattern: What it matches, with the operands in one of their orders.
    """

    text: str
    kind: type[PrimExpr]
    operands: tuple[type[PrimExpr] | None, ...]
    pattern: ast.expr

    def compiled(self) -> Apply:
        """Return what gives the replacement."""
        _, replacement, condition = _taken_apart(self.text)
        return _Writer(self.text).apply(self.pattern, replacement, condition)


class Rules(NamedTuple):
    """The text of some rules, which is parsed when it is needed.

    Attributes:
        text: The rules; a line that begins with `->`, `if` or `and` goes on with one.
        either: The operators whose operands may be in either order, such as `+ min`.
    """

    text: str
    either: str = ""

    def parsed(self) -> Iterator[Rule]:
        """Yield the rules, once for each order of operands.

        Raises:
            InternalError: A line is no rule.
        """
        for line in _lines(self.text):
            seen: set[str] = set()
            for variant in orders(_parsed(_taken_apart(line)[0]), self.either.split()):
                if ast.dump(variant) not in seen:
                    seen.add(ast.dump(variant))
                    root = term_of(variant)
                    if root is None:
                        raise InternalError(f"a rule about anything: '{line}'")
                    yield Rule(line, root.kind, _kinds(root), variant)


def rules(text: str, *, either: str = "") -> list[Rules]:
    """Return the rules of a text; see `Rules`."""
    return [Rules(text, either)]


def _lines(text: str) -> list[str]:
    """Return the rules of a text, some of which take several lines."""
    found: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if found and line.startswith(("->", "if ", "and ")):
            found[-1] += " " + line
        elif line:
            found.append(line)
    return found


def _taken_apart(line: str) -> tuple[str, str, str]:
    """Return the pattern, the replacement and the condition of a rule."""
    pattern, _, rest = line.partition(" -> ")
    replacement, _, condition = rest.partition(" if ")
    if not rest:
        raise InternalError(f"expected 'pattern -> replacement', got '{line}'")
    return pattern, replacement, condition.strip()


def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


class _Writer:
    """Writes the function that a rule is."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.lines: list[str] = []
        self.bound: set[str] = set()
        self.kinds: dict[str, type[PrimExpr]] = {}
        self.places = itertools.count()

    def apply(self, pattern: ast.expr, replacement: str, condition: str) -> Apply:
        root = term_of(pattern)
        if root is None:
            raise InternalError(f"a rule about anything: '{self.line}'")
        self._match_parts(root, "node")
        if condition:
            self.lines.append(f"if not ({self._condition(_parsed(condition))}): return")
        self.lines.append(f"return {self._made(_parsed(replacement))}")
        return self._function()

    def _function(self) -> Apply:
        body = "\n    ".join(self.lines)
        names: dict[str, Any] = {kind.__name__: kind for kind in _NAMED}
        names |= {"trunc_div": trunc_div, "trunc_mod": trunc_mod, "gcd": math.gcd}
        exec(compile(f"def apply(node, t):\n    {body}", self.line, "exec"), names)
        return names["apply"]

    def _match(self, tree: ast.expr, place: str) -> None:
        term = term_of(tree)
        if term is not None and not is_constant(tree):
            self.lines.append(f"if type({place}) is not {term.kind.__name__}: return")
            self._match_parts(term, place)
        elif isinstance(tree, ast.Name):
            self._match_name(tree.id, place)
        else:
            value = ast.unparse(tree)
            self.lines.append(
                f"if type({place}) is not IntImm or {place}.value != {value}: return"
            )

    def _match_parts(self, term: Term, place: str) -> None:
        fields = FIELDS.get(term.kind, ("a", "b"))
        # Constants, and then what has a kind, tell the soonest that nothing matches.
        order = sorted(zip(term.parts, fields, strict=True), key=_how_telling)
        for part, field in order:
            inner = f"p{next(self.places)}"
            self.lines.append(f"{inner} = {place}.{field}")
            self._match(part, inner)

    def _match_name(self, name: str, place: str) -> None:
        is_constant = CONSTANT.fullmatch(name) and name != "n"
        if is_constant:
            self.lines.append(f"if type({place}) is not IntImm: return")
            place = f"{place}.value"
        if name in self.bound:
            differs = "!=" if is_constant or name == "n" else "is not"
            self.lines.append(f"if {place} {differs} {name}: return")
        else:
            self.lines.append(f"{name} = {place}")
            self.bound.add(name)

    def _made(self, tree: ast.expr) -> str:
        """Return what makes a replacement, as text of Python."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
            return f"t.truth({tree.value})"
        if is_constant(tree):
            return f"t.imm(node, {self._number(tree)})"
        term = term_of(tree)
        if term is None:
            if isinstance(tree, ast.Name) and tree.id in self.bound:
                return tree.id
            raise InternalError(f"'{ast.unparse(tree)}' is not bound in '{self.line}'")
        if term.kind in (Ramp, Broadcast):
            *parts, lanes = term.parts
            made = [*map(self._made, parts), self._number(lanes)]
        else:
            made = [*map(self._made, term.parts)]
        return f"t.make({term.kind.__name__}, {', '.join(made)})"

    def _number(self, tree: ast.expr) -> str:
        """Return what computes a constant, as text of Python."""
        match tree:
            case ast.Name(name) if name in self.bound:
                return name
            case ast.Constant(value):
                return str(value)
            case ast.UnaryOp(ast.USub(), operand):
                return f"-({self._number(operand)})"
            case ast.BinOp(left, op, right):
                sign = _SIGNS[type(op)]
                return f"({self._number(left)} {sign} {self._number(right)})"
            case ast.Call(ast.Name(name), args):
                called = _COMPUTED.get(name, name)
                return f"{called}({', '.join(map(self._number, args))})"
            case _:
                raise InternalError(f"no number: '{ast.unparse(tree)}', '{self.line}'")

    def _condition(self, tree: ast.expr) -> str:
        match tree:
            case ast.BoolOp(op, values):
                joined = " and " if isinstance(op, ast.And) else " or "
                return f"({joined.join(map(self._condition, values))})"
            case ast.Compare(left, ops, others):
                parts = [self._value(left)]
                for op, other in zip(ops, others, strict=True):
                    parts += (_COMPARED[type(op)], self._value(other))
                return " ".join(parts)
            case ast.UnaryOp(ast.Not(), operand):
                return f"not {self._condition(operand)}"
            case _:
                return self._value(tree)

    def _value(self, tree: ast.expr) -> str:
        """Return what computes a number or asks what is known, as text of Python."""
        if isinstance(tree, ast.BinOp):
            sign = _SIGNS[type(tree.op)]
            return f"({self._value(tree.left)} {sign} {self._value(tree.right)})"
        match tree:
            case ast.Call(ast.Name(name), args) if name not in _COMPUTED:
                return f"t.{name}({', '.join(map(self._asked, args))})"
            case _:
                return self._number(tree)

    def _asked(self, tree: ast.expr) -> str:
        return self._number(tree) if is_constant(tree) else self._made(tree)


_SIGNS: dict[type[Any], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARED: dict[type[Any], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_NAMED = (*BINARY.values(), *CALLED.values(), Not, IntImm)


def _how_telling(part: tuple[ast.expr, str]) -> int:
    if is_constant(part[0]):
        return 0
    return 1 if term_of(part[0]) is not None else 2


def _kinds(root: Term) -> tuple[type[PrimExpr] | None, ...]:
    return tuple(
        IntImm if is_constant(part) else term.kind if term else None
        for part in root.parts
        for term in [term_of(part)]
    )
