"""Expressions that the pattern of a rewriting rule matches."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from parpass import tir

_BINARY: dict[type[Any], type[Any]] = {
    ast.Add: tir.Add,
    ast.Sub: tir.Sub,
    ast.Mult: tir.Mul,
    ast.FloorDiv: tir.FloorDiv,
    ast.Mod: tir.FloorMod,
    ast.Eq: tir.EQ,
    ast.NotEq: tir.NE,
    ast.Lt: tir.LT,
    ast.LtE: tir.LE,
    ast.And: tir.And,
    ast.Or: tir.Or,
}
_CALLED: dict[str, Any] = {
    "tdiv": tir.Div,
    "tmod": tir.Mod,
    "min": tir.Min,
    "max": tir.Max,
    "select": tir.Select,
    "ramp": tir.Ramp,
    "broadcast": tir.Broadcast,
}


def names_of(pattern: str) -> set[str]:
    """Return the names in a pattern."""
    found = {
        one.id for one in ast.walk(ast.parse(pattern)) if isinstance(one, ast.Name)
    }
    return found - _CALLED.keys()


def instance(pattern: str, values: Mapping[str, Any], dtype: str = "int32") -> Any:
    """Return a pattern with expressions in the place of its names.

    Args:
        pattern: The pattern.
        values: The expressions.
        dtype: That of numbers in the pattern.
    """
    return _built(ast.parse(pattern, mode="eval").body, values, dtype)


def _built(tree: ast.expr, values: Mapping[str, Any], dtype: str) -> Any:
    def build(one: ast.expr) -> Any:
        return _built(one, values, dtype)

    match tree:
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](build(left), build(right))
        case ast.Compare(left, [op], [right]):
            return _BINARY[type(op)](build(left), build(right))
        case ast.BoolOp(op, [left, right]):
            return _BINARY[type(op)](build(left), build(right))
        case ast.UnaryOp(ast.Not(), operand):
            return tir.Not(build(operand))
        case ast.Call(ast.Name(name), args):
            return _CALLED[name](*map(build, args))
        case ast.Name(name):
            return values[name]
        case _:
            return tir.const(ast.literal_eval(tree), dtype)
