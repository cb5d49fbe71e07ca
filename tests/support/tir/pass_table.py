"""Every shipped pass on loop programs, to test what all keep, and deep programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from parpass import tir
from parpass.tir import transform
from parpass.transform import Pass, Sequential

DEPTH = 3_000
LARGE = 1_000


class Listed(NamedTuple):
    """A pass, and the settings under which it finds something to do."""

    make: Callable[[], Pass]
    config: dict[str, Any] = {}  # noqa: RUF012 -- never changed


def _unchanged(func: tir.PrimFunc) -> tir.PrimFunc:
    return func


# How those are made that without arguments cannot be made, or find nothing to do;
# and variants.
_ARRANGED: dict[str, Listed] = {
    "Apply": Listed(lambda: transform.Apply(_unchanged)),
    "bounds": Listed(
        lambda: Sequential(
            [
                transform.StorageFlatten(create_bound_attribute=True),
                transform.InstrumentBoundCheckers(),
            ]
        )
    ),
    "no vectors": Listed(lambda: transform.VectorizeLoop(enable_vectorize=False)),
    "short loops": Listed(
        transform.UnrollLoop, {"tir.UnrollLoop": {"auto_max_step": 16}}
    ),
    "trivial loops": Listed(
        transform.UnrollLoop, {"tir.UnrollLoop": {"auto_max_extent": 1}}
    ),
}
# A pass that the package exports is in the table by itself.
SHIPPED: dict[str, type[Pass]] = {
    name: one
    for name in transform.__all__
    if isinstance(one := getattr(transform, name), type)
    and issubclass(one, Pass)
    and one is not transform.PrimFuncPass
}
PASSES = {name: Listed(make) for name, make in SHIPPED.items()} | _ARRANGED
VARIANTS = {"bounds", "no vectors", "short loops", "trivial loops"}
REPEATED = {"bounds"}  # that do the same again each time they run
UNNAMED = {"Apply"}  # those that need arguments

_BUFFER = tir.decl_buffer((4,), "int32", "B")


def _store(value: Any = 1) -> tir.Stmt:
    return tir.BufferStore(_BUFFER, value, [0])


def loops(depth: int) -> tir.Stmt:
    """Return loops of one round in loops of one round."""
    body = _store()
    for at in range(depth):
        kind = tir.ForKind.UNROLLED if at % 2 else tir.ForKind.SERIAL
        body = tir.For(tir.Var(f"i{at}"), 0, 1, kind, body)
    return body


def branches(depth: int) -> tir.Stmt:
    """Return statements under conditions that are under conditions."""
    x, body = tir.Var("x"), _store()
    for at in range(depth):
        body = tir.IfThenElse(x < at, body, _store(at))
    return tir.LetStmt(x, tir.BufferLoad(_BUFFER, [1]), body)


def lets(depth: int) -> tir.Stmt:
    """Return variables, each of which uses the one before."""
    names = [tir.Var(f"v{at}") for at in range(depth)]
    body = _store(names[-1])
    for name, before in zip(names[::-1], [*names[-2::-1], None], strict=True):
        value = tir.const(1) if before is None else before + 1
        body = tir.LetStmt(name, value, body)
    return body


def sequences(depth: int) -> tir.Stmt:
    """Return sequences in sequences."""
    body = _store()
    for at in range(depth):
        body = tir.SeqStmt([body, _store(at)])
    return body


def memories(depth: int) -> tir.Stmt:
    """Return memory in the scope of memory."""
    body = _store()
    for at in range(depth):
        own = tir.decl_buffer((1,), "int32", f"own{at}")
        body = tir.Allocate(own.data, "int32", (1,), None, body)
    return body


def values(depth: int) -> tir.Stmt:
    """Return a long sum, in which some operands are chosen."""
    x = tir.BufferLoad(_BUFFER, [1])
    total: tir.PrimExpr = x
    for at in range(depth):
        total = tir.Select(total < at, total, x) if at % 2 else total + x
    return _store(total)


KINDS = (loops, branches, lets, sequences, memories)


def doubled(depth: int) -> tir.Stmt:
    """Return ints each of which has the one before several times, in two statements."""
    i, total = tir.Var("i"), tir.BufferLoad(_BUFFER, [0])
    for at in range(depth):
        total = tir.Select(total < at, tir.floormod(total + total, 5), total + 1)
    stored = tir.BufferStore(_BUFFER, total + i, [tir.floormod(total, 4)])
    guarded = tir.IfThenElse(tir.likely(total < 2), stored)
    return tir.For(i, 0, 4, tir.ForKind.UNROLLED, guarded)


def doubled_indices(depth: int) -> tir.Stmt:
    """Return elements each of which is found by the one before, twice."""
    found = tir.BufferLoad(_BUFFER, [0])
    for _ in range(depth):
        found = tir.BufferLoad(_BUFFER, [tir.floormod(found + found, 4)])
    return _store(found)


def doubled_lets(depth: int) -> tir.Stmt:
    """Return values of names each of which is there again where the name is used."""
    found: tir.PrimExpr = tir.BufferLoad(_BUFFER, [0])
    for at in range(depth):
        name = tir.Var(f"v{at}")
        found = tir.Let(name, found, tir.min(name + found, LARGE))
    return _store(found)


SHARING = (doubled, doubled_indices, doubled_lets)


def deep(kind: Callable[[int], tir.Stmt], depth: int = DEPTH) -> tir.PrimFunc:
    """Return a function of a deep statement."""
    return tir.PrimFunc((_BUFFER,), kind(depth))
