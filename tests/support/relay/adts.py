"""Algebraic data types to write programs with."""

from __future__ import annotations

from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.module import IRModule
from parpass.ir.types import TypeVar
from parpass.relay.adt import (
    Clause,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.expr import Call, Expr, Var

A = TypeVar("A")
LIST = GlobalTypeVar("List")
CONS = Constructor("Cons", (A, LIST(A)), LIST)
NIL = Constructor("Nil", (), LIST)
LIST_DATA = TypeData(LIST, (A,), (CONS, NIL))


def with_lists(**functions: Expr) -> IRModule:
    """Return a module that has lists."""
    return IRModule(functions, type_definitions={LIST: LIST_DATA})


def list_of(*items: Expr) -> Expr:
    """Return the expression of a list."""
    made: Expr = Call(NIL, ())
    for item in reversed(items):
        made = Call(CONS, (item, made))
    return made


def head_or(data: Expr, default: Expr) -> Match:
    """Return the first item of a list, something else if there is none."""
    head = Var("head")
    pattern = PatternConstructor(CONS, (PatternVar(head), PatternWildcard()))
    return Match(data, (Clause(pattern, head), Clause(PatternWildcard(), default)))
