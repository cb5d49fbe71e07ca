"""Detection of language features in a program, under TVM's names."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from parpass.ir.adt import Constructor
from parpass.ir.node import Node, children, post_order
from parpass.ir.op_table import Op
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis.scopes import is_atomic
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parpass.ir.module import IRModule


# `fGraph` is a value, other than a name or a constant, that is used twice.
Feature = enum.IntEnum(
    "Feature",
    [
        "fVar",
        "fGlobalVar",
        "fConstant",
        "fTuple",
        "fTupleGetItem",
        "fFunction",
        "fOp",
        "fCall",
        "fLet",
        "fIf",
        "fRefCreate",
        "fRefRead",
        "fRefWrite",
        "fConstructor",
        "fMatch",
        "fGraph",
        "fLetRec",
    ],
    start=0,
)

_FEATURE_OF: dict[type[Node], Feature] = {
    Var: Feature.fVar,
    GlobalVar: Feature.fGlobalVar,
    Constant: Feature.fConstant,
    Tuple: Feature.fTuple,
    TupleGetItem: Feature.fTupleGetItem,
    Function: Feature.fFunction,
    Op: Feature.fOp,
    Call: Feature.fCall,
    Let: Feature.fLet,
    If: Feature.fIf,
    RefCreate: Feature.fRefCreate,
    RefRead: Feature.fRefRead,
    RefWrite: Feature.fRefWrite,
    Constructor: Feature.fConstructor,
    Match: Feature.fMatch,
}


def detect_feature(
    a: Expr | IRModule, b: Expr | IRModule | None = None
) -> set[Feature]:
    """Return the features that an expression, or the functions of a module, use.

    Args:
        a: An expression or a module.
        b: A second module or expression to examine.
    """
    found: set[Feature] = set()
    for program in (a, b):
        if isinstance(program, Expr):
            found.update(_features(post_order(program)))
        elif program is not None:
            for function in program.functions_by_name.values():
                found.update(_features(post_order(function)))
    return found


def _features(order: Sequence[Node]) -> Iterator[Feature]:
    used: set[Node] = set()
    recursive = _in_their_own_values(order)
    for node in order:
        if not isinstance(node, Clause):
            yield _FEATURE_OF[type(node)]
        if isinstance(node, Let) and node.var in recursive:
            yield Feature.fLetRec
        for child in children(node):
            if child in used and not is_atomic(child):
                yield Feature.fGraph
            used.add(child)


def _in_their_own_values(order: Sequence[Node]) -> set[Node]:
    """Return the variables of `let`s that are used before their value is complete."""
    values = {node.var: node.value for node in order if isinstance(node, Let)}
    position = {node: at for at, node in enumerate(order)}
    users = [(child, node) for node in order for child in children(node)]
    return {
        var
        for var, node in users
        if var in values
        and not (isinstance(node, Let) and node.var is var)
        and position[node] <= position[values[var]]
    }
