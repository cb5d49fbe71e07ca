"""Loop programs in which each level uses the one below it twice, as the same object.

A program of `depth` levels has some nodes for each of them, and `2**depth` as a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass import tir
from parpass.ir.types import PointerType, PrimType
from parpass.tir.expr import And, FloorDiv, FloorMod, Max, Min, Or

_DATA: Any = PointerType(PrimType("int32"))


class _Memory:
    """The buffer that programs write to, and parameters for conditions."""

    def __init__(self) -> None:
        self.buffer: Any = tir.decl_buffer((4,), "int32", "A")
        self.n = tir.Var("n", "int32")
        self.params: list[Any] = [self.n]

    def store(self, value: Any, index: Any = 0) -> Any:
        """Return a store of a value."""
        return tir.BufferStore(
            self.buffer,
            value,
            [tir.const(index, "int32") if isinstance(index, int) else index],
        )

    def number(self, name: str) -> Any:
        """Return a parameter."""
        self.params.append(tir.Var(name, "int32"))
        return self.params[-1]

    def function(self, body: Any) -> Any:
        """Return a function of a body."""
        handle = tir.Var("a", "handle")
        func: Any = tir.PrimFunc(
            [handle, *self.params], body, buffer_map={handle: self.buffer}
        )
        return func.with_attr("global_symbol", "main")


Level = Callable[[_Memory, Any, int], Any]


def _twice(stmt: Any) -> Any:
    return tir.SeqStmt([stmt, stmt])


def _loop(at: int, body: Any, kind: Any = tir.ForKind.SERIAL, extent: Any = 2) -> Any:
    return tir.For(tir.Var(f"i{at}", "int32"), 0, extent, kind, body)


def _used_loop(at: int, memory: _Memory, body: Any) -> Any:
    """Return a loop whose body stores the loop's variable, and does something else."""
    var = tir.Var(f"i{at}", "int32")
    both = tir.SeqStmt([memory.store(var), body])
    return tir.For(var, 0, 2, tir.ForKind.SERIAL, both)


def _likely_loop(memory: _Memory, at: int, body: Any) -> Any:
    var = tir.Var(f"i{at}", "int32")
    marked = tir.IfThenElse(tir.likely(var < memory.n), memory.store(var), None)
    both = tir.SeqStmt([marked, body])
    return tir.For(var, 0, 8, tir.ForKind.SERIAL, both)


def _allocated(at: int, body: Any) -> Any:
    var = tir.Var(f"m{at}", _DATA)
    filled = tir.Store(var, at, 0)
    return tir.Allocate(
        *(var, "int32", [4], tir.const(1, "bool"), tir.SeqStmt([filled, body]))
    )


def _realized(at: int, body: Any) -> Any:
    buffer: Any = tir.decl_buffer((4,), "int32", f"r{at}")
    filled = tir.BufferStore(buffer, at, [0])
    bounds = [tir.Range(0, 4)]
    return tir.BufferRealize(
        *(buffer, bounds, tir.const(1, "bool"), tir.SeqStmt([filled, body]))
    )


def _threads(at: int, body: Any) -> Any:
    axis = tir.IterVar(
        tir.Range(0, 2), tir.Var(f"t{at}", "int32"), 1, f"threadIdx.{'xyz'[at % 3]}"
    )
    return tir.AttrStmt(axis, "thread_extent", 2, body)


# By name: what a level is, of a memory, the level below and its number.
STATEMENTS: dict[str, Level] = {
    "sequences": lambda m, s, k: _twice(s),
    "sequences of three": lambda m, s, k: tir.SeqStmt([s, m.store(k), s]),
    "branches": lambda m, s, k: tir.IfThenElse(m.n > 3, s, s),
    "other branches": lambda m, s, k: tir.IfThenElse(m.number(f"n{k}") > 3, s, s),
    "conditional sequences": lambda m, s, k: tir.IfThenElse(
        m.number(f"n{k}") > 3, _twice(s)
    ),
    "loops": lambda m, s, k: _twice(_loop(k, s)),
    "used loops": lambda m, s, k: _twice(_used_loop(k, m, s)),
    "loops in branches": lambda m, s, k: tir.IfThenElse(
        m.number(f"n{k}") > 3, _loop(k, s), _loop(k, s)
    ),
    "likely loops": lambda m, s, k: _twice(_likely_loop(m, k, s)),
    "parallel loops": lambda m, s, k: _twice(_loop(k, s, tir.ForKind.PARALLEL)),
    "unrolled loops": lambda m, s, k: _loop(k, s, tir.ForKind.UNROLLED),
    "used unrolled loops": lambda m, s, k: tir.For(
        *((v := tir.Var(f"i{k}", "int32")), 0, 2, tir.ForKind.UNROLLED),
        tir.SeqStmt([m.store(v), s]),
    ),
    "loops of variable rounds": lambda m, s, k: _twice(_loop(k, s, extent=m.n)),
    "allocations": lambda m, s, k: _twice(_allocated(k, s)),
    "realizations": lambda m, s, k: _twice(_realized(k, s)),
    "names": lambda m, s, k: _twice(
        tir.LetStmt(
            v := tir.Var(f"v{k}", "int32"), m.n + k, tir.SeqStmt([m.store(v), s])
        )
    ),
    "names around": lambda m, s, k: tir.LetStmt(
        tir.Var(f"v{k}", "int32"), m.n, _twice(s)
    ),
    "assertions": lambda m, s, k: _twice(
        tir.AssertStmt(m.n > k, tir.StringImm("low"), s)
    ),
    "attributes": lambda m, s, k: _twice(tir.AttrStmt(None, "mark", k, s)),
    "pragmas": lambda m, s, k: _twice(
        tir.AttrStmt(None, "pragma_auto_unroll_max_step", k, s)
    ),
    "threads": lambda m, s, k: _twice(_threads(k, s)),
    "whiles": lambda m, s, k: _twice(
        tir.While(tir.BufferLoad(m.buffer, [0]) < k, _twice(s))
    ),
}


def _let(e: Any, k: int, use: Callable[[Any], Any]) -> Any:
    var = tir.Var(f"v{k}", "int32")
    return tir.Let(var, e, use(var))


# By name: what a level is, of an int and its number.
EXPRESSIONS: dict[str, Level] = {
    "sums": lambda m, e, k: e + e,
    "products": lambda m, e, k: e * (e + k),
    "extremes": lambda m, e, k: Min(Max(e, e + 1), e * 2),
    "selections": lambda m, e, k: tir.Select(e > 3, e, e + 1),
    "other selections": lambda m, e, k: tir.Select(m.number(f"n{k}") > 3, e, e + 1),
    "remainders": lambda m, e, k: (
        FloorMod(e, tir.const(7, "int32")) + FloorDiv(e, tir.const(3, "int32"))
    ),
    "lets of values": lambda m, e, k: _let(e, k, lambda v: v + v),
    "lets around": lambda m, e, k: _let(m.n + k, k, lambda v: v + e) + e,
    "lets in": lambda m, e, k: _let(m.n, k, lambda v: e + e + v),
    "casts": lambda m, e, k: (
        tir.Cast("int32", tir.Cast("float32", e)) + tir.Cast("int32", e)
    ),
    "loads": lambda m, e, k: (
        tir.BufferLoad(m.buffer, [FloorMod(e, tir.const(4, "int32"))]) + e
    ),
    "loads of loads": lambda m, e, k: tir.BufferLoad(
        m.buffer, [FloorMod(e + e, tir.const(4, "int32"))]
    ),
    "calls": lambda m, e, k: tir.if_then_else(e > k, e, e + 1),
    "other calls": lambda m, e, k: tir.if_then_else(m.number(f"n{k}") > k, e, e + 1),
    "guarded loads": lambda m, e, k: tir.if_then_else(
        e > k, tir.BufferLoad(m.buffer, [FloorMod(e, tir.const(4, "int32"))]), e
    ),
    "selected loads": lambda m, e, k: tir.Select(
        e > k, tir.BufferLoad(m.buffer, [FloorMod(e, tir.const(4, "int32"))]), e
    ),
}
CONDITIONS: dict[str, Level] = {
    "conditions": lambda m, c, k: And(Or(c, m.n < 5), c),
    "conditions behind": lambda m, c, k: And(Or(m.n < 5, c), c),
    "conditions twice behind": lambda m, c, k: And(
        m.number(f"n{k}") < 5, And(Or(m.n < 5, c), Or(m.n < k, c))
    ),
    "negations": lambda m, c, k: tir.Not(And(c, Or(c, m.n < k))),
    "equal conditions": lambda m, c, k: tir.EQ(c, And(c, c)),
}


def _levels(memory: _Memory, level: Level, innermost: Any, depth: int) -> Any:
    found = innermost
    for at in range(depth):
        found = level(memory, found, at)
    return found


def of_statements(level: Level, depth: int) -> Any:
    """Return a function of so many levels of statements."""
    memory = _Memory()
    return memory.function(_levels(memory, level, memory.store(memory.n), depth))


def vectorized(level: Level, depth: int) -> Any:
    """Return so many levels of statements in a vectorized loop."""
    return _in_loop(level, depth, tir.ForKind.VECTORIZED)


def unrolled(level: Level, depth: int) -> Any:
    """Return so many levels of statements in an unrolled loop."""
    return _in_loop(level, depth, tir.ForKind.UNROLLED)


def _in_loop(level: Level, depth: int, kind: Any) -> Any:
    memory, var = _Memory(), tir.Var("i", "int32")
    stmt = _levels(memory, level, memory.store(var, var), depth)
    return memory.function(tir.For(var, 0, 4, kind, stmt))


def with_memory(level: Level, depth: int) -> Any:
    """Return so many levels of statements that fill memory, which is allocated."""
    memory, var = _Memory(), tir.Var("w", _DATA)
    stmt = _levels(memory, level, tir.Store(var, memory.n, 0), depth)
    true = tir.const(1, "bool")
    return memory.function(tir.Allocate(var, "int32", [4], true, stmt))


def of_values(level: Level, depth: int) -> Any:
    """Return a function that stores what so many levels compute."""
    memory = _Memory()
    return memory.function(memory.store(_levels(memory, level, memory.n, depth)))


def of_indices(level: Level, depth: int) -> Any:
    """Return a function that stores where so many levels say, in a loop."""
    memory, var = _Memory(), tir.Var("i", "int32")
    expr = _levels(memory, level, memory.n + var, depth)
    stored = memory.store(1, FloorMod(expr, tir.const(4, "int32")))
    return memory.function(tir.For(var, 0, 4, tir.ForKind.SERIAL, stored))


def of_vectors(level: Level, depth: int) -> Any:
    """Return a function that computes so many levels in a vectorized loop."""
    memory, var = _Memory(), tir.Var("i", "int32")
    stored = memory.store(_levels(memory, level, memory.n + var, depth), var)
    return memory.function(tir.For(var, 0, 4, tir.ForKind.VECTORIZED, stored))


def of_bounds(level: Level, depth: int) -> Any:
    """Return a function with a loop of as many rounds as so many levels say."""
    memory = _Memory()
    rounds = FloorMod(_levels(memory, level, memory.n, depth), tir.const(3, "int32"))
    return memory.function(_loop(0, memory.store(1), extent=rounds))


def of_conditions(level: Level, depth: int) -> Any:
    """Return a function with a branch in a loop, on so many levels of conditions."""
    memory, var = _Memory(), tir.Var("i", "int32")
    condition = _levels(memory, level, memory.n > 3, depth)
    branch = tir.IfThenElse(condition, memory.store(var), None)
    return memory.function(tir.For(var, 0, 4, tir.ForKind.SERIAL, branch))


def of_likely(level: Level, depth: int) -> Any:
    """Return the same, of conditions that mention the variable and are likely."""
    memory, var = _Memory(), tir.Var("i", "int32")
    condition = _levels(memory, level, memory.n > var, depth)
    branch = tir.IfThenElse(tir.likely(condition), memory.store(var), None)
    return memory.function(tir.For(var, 0, 16, tir.ForKind.SERIAL, branch))


_OF_STATEMENTS = (of_statements, vectorized, unrolled, with_memory)
_OF_EXPRESSIONS = (of_values, of_indices, of_vectors, of_bounds)
_OF_CONDITIONS = (of_conditions, of_likely)

_FORMS = (
    (_OF_STATEMENTS, STATEMENTS),
    (_OF_EXPRESSIONS, EXPRESSIONS),
    (_OF_CONDITIONS, CONDITIONS),
)


def _family(form: Any, level: Level) -> Callable[[int], Any]:
    return lambda depth: form(level, depth)


# By name, for each kind of level: each of the forms that it may be put in.
FAMILIES: dict[str, dict[str, Callable[[int], Any]]] = {
    name: {form.__name__: _family(form, level) for form in forms}
    for forms, levels in _FORMS
    for name, level in levels.items()
}
