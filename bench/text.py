"""How long printing and parsing take, by the size of the program.

    python bench/text.py [--largest N]

Both are linear if the time for each node stays the same from row to row. The programs
are one function each: a chain of calls, a chain of `let`s, and nested `if`s, which is
as deep as it is large.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import click
from rich.console import Console
from rich.table import Table

from parpass import relay

X, COND = relay.var("x", shape=(2, 3)), relay.var("c", "bool")


def calls(size: int) -> relay.Expr:
    """Return a chain of calls, each of which uses the one before twice."""
    expr: relay.Expr = X
    for _ in range(size):
        expr = relay.add(expr, expr)
    return expr


def lets(size: int) -> relay.Expr:
    """Return a chain of `let`s, each of which uses the variable before."""
    names = [X, *(relay.Var(f"v{at}") for at in range(size // 2))]
    body: relay.Expr = names[-1]
    for before, name in zip(names[-2::-1], names[:0:-1], strict=True):
        body = relay.Let(name, relay.negative(before), body)
    return body


def ifs(size: int) -> relay.Expr:
    """Return `if`s in the branches of `if`s."""
    expr: relay.Expr = X
    for _ in range(size):
        expr = relay.If(COND, expr, X)
    return expr


KINDS: tuple[Callable[[int], relay.Expr], ...] = (calls, lets, ifs)


def microseconds(action: Callable[[], object], nodes: int) -> float:
    """Return the time for each node, the best of three."""
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) / nodes * 1e6


@click.command()
@click.option("--largest", default=100_000, show_default=True, help="Nodes at most.")
def main(largest: int) -> None:
    """Measure printing and parsing."""
    table = Table(title="Microseconds for each node")
    for heading in ("program", "nodes", "text", "print", "parse"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for kind in KINDS:
        size = 1000
        while size <= largest:
            module = relay.parse("")
            module["main"] = relay.Function((X, COND), kind(size))
            text = module.astext()
            printing = microseconds(module.astext, size)
            parsing = microseconds(lambda text=text: relay.parse(text), size)
            table.add_row(
                kind.__name__,
                f"{size:,}",
                f"{len(text) / 1e3:,.0f} kB",
                f"{printing:.1f}",
                f"{parsing:.1f}",
            )
            size *= 10
    Console().print(table)


if __name__ == "__main__":
    main()
