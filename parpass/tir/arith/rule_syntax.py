"""The syntax of rewriting rules: what the pieces of their text are."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from parpass.tir.binary_op import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
)
from parpass.tir.expr import Broadcast, Not, Ramp, Select
from parpass.tir.prim_expr import PrimExpr

BINARY: dict[type[Any], type[PrimExpr]] = {
    ast.Add: Add,
    ast.Sub: Sub,
    ast.Mult: Mul,
    ast.FloorDiv: FloorDiv,
    ast.Mod: FloorMod,
    ast.Eq: EQ,
    ast.NotEq: NE,
    ast.Lt: LT,
    ast.LtE: LE,
    ast.And: And,
    ast.Or: Or,
}
CALLED: dict[str, type[PrimExpr]] = {
    "tdiv": Div,
    "tmod": Mod,
    "min": Min,
    "max": Max,
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


_MARKS = {"+": Add, "*": Mul, "min": Min, "max": Max, "and": And, "or": Or, "==": EQ}


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
