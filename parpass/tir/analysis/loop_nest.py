"""The loop nest of a function: its loops in the order of its text."""

from __future__ import annotations

from typing import Any, NamedTuple

from parpass.ir.text.printer import render_parts
from parpass.tir.expr import IntImm, PrimExpr
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import BufferStore, For, ForKind, Store, While
from parpass.tir.stmt_expr_functor import statements_in
from parpass.tir.stmt_functor import check_statement_tree_size
from parpass.tir.text.expr_printer import ExprPrinter, PrintedNames


class Loop(NamedTuple):
    """A loop.

    Attributes:
        depth: How many loops it is nested in.
        variable: The name of its variable; empty for a while loop.
        extent: The number of its iterations, or the expression for it as text; of a
            while loop its condition.
        kind: `serial`, `parallel`, `vectorized`, `unrolled`, `thread_binding`, or
            `while`.
        writes: The names of the buffers written in it, outside of the loops in it.
    """

    depth: int
    variable: str
    extent: int | str
    kind: str
    writes: tuple[str, ...]


def loop_nest(func: PrimFunc) -> list[Loop]:
    """Return the loops of a function, each before those in it.

    Raises:
        SizeLimitError: Statements are shared by so many others that there are too many
            places to look at.
    """
    check_statement_tree_size(func, "statements in a loop nest")
    found: list[tuple[Loop, dict[str, None]]] = []
    # Statements, each with what the innermost loop around it writes, and its depth.
    stack: list[tuple[Any, dict[str, None], int]] = [(func.body, {}, 0)]
    while stack:
        stmt, written, depth = stack.pop()
        if isinstance(stmt, For | While):
            written = dict[str, None]()
            found.append((_loop(stmt, depth), written))
            depth += 1
        elif isinstance(stmt, BufferStore):
            written[stmt.buffer.name] = None
        elif isinstance(stmt, Store):
            written[stmt.buffer_var.name] = None
        stack += [(one, written, depth) for one in reversed(statements_in(stmt))]
    return [loop._replace(writes=tuple(written)) for loop, written in found]


def _loop(stmt: For | While, depth: int) -> Loop:
    if isinstance(stmt, While):
        return Loop(depth, "", _text(stmt.condition), "while", ())
    kind = ForKind(stmt.kind).name.lower()
    return Loop(depth, stmt.loop_var.name, _extent(stmt.extent), kind, ())


def _extent(extent: PrimExpr) -> int | str:
    return extent.value if isinstance(extent, IntImm) else _text(extent)


def _text(expr: PrimExpr) -> str:
    return render_parts([ExprPrinter(PrintedNames()).expr(expr)])
