"""Generated loop programs that end, and that access memory within its bounds.

A program is a PrimFunc over a few buffers of ints and floats, whose elements it reads
and writes in nested loops, under conditions, with variables of `let`s and, if wanted,
memory of its own. Indices are loop variables, or are brought within the bounds by
`floormod`; divisors are constants. Memory of its own is written whole before it is
read. Ints stay small: what is stored is less than LARGE, and factors are constants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from parpass import tir

Draw = st.DrawFn


class _Scope(NamedTuple):
    """What may be used where a statement stands."""

    buffers: tuple[tir.Buffer, ...]
    ints: tuple[tir.Var, ...]
    loops: int  # how many are around


LARGE = 1009
MAX_LOOPS = 3
MAX_EXTENT = 5


@st.composite
def prim_funcs(draw: Draw, *, floats: bool = True, allocations: bool = True) -> Any:
    """Return a PrimFunc.

    Args:
        draw: Given by Hypothesis.
        floats: Whether there are buffers of floats, besides those of ints.
        allocations: Whether it may allocate memory of its own.
    """
    dtypes = ("int32", "float32") if floats else ("int32",)
    buffers = tuple(_buffer(draw, f"B{at}", dtypes) for at in range(2))
    scale = tir.Var("scale", "int32")
    scope = _Scope(buffers, (scale,), 0)
    body = _statement(draw, scope, 3)
    if allocations and draw(st.booleans()):
        body = _with_memory(draw, scope)
    handles = [tir.Var(buffer.name.lower(), "handle") for buffer in buffers]
    mapped = dict(zip(handles, buffers, strict=True))
    func = tir.PrimFunc((*handles, scale), body, None, mapped)
    return func.with_attr("global_symbol", "main")


def modules(**kwargs: Any) -> st.SearchStrategy[Any]:
    """Return modules of one or several such functions."""
    from parpass import IRModule

    names = ("main", "second", "third")
    lists = st.lists(prim_funcs(**kwargs), min_size=1, max_size=3)
    return lists.map(lambda found: IRModule(dict(zip(names, found, strict=False))))


@st.composite
def vectorized_funcs(draw: Draw) -> Any:
    """Return a PrimFunc of a vectorized loop, each round of which writes one element.

    It loads from one pointer and stores to another one: by scalars, not by buffers.
    """
    count = draw(st.integers(1, 6))
    source, target = (tir.decl_buffer((16,), "int32", name) for name in ("A", "B"))
    i, scale = tir.Var("i"), tir.Var("scale")
    at = draw(st.sampled_from((i, 15 - i * 2, i * scale + 5, scale + 3)))
    scope = _Scope((), (i, scale, tir.Var("v")), 1)
    body = _vector_statement(draw, scope, target)
    loaded = source.vload([tir.floormod(at, 16)])
    body = tir.LetStmt(scope.ints[-1], loaded, body)
    loop = tir.For(i, 0, count, tir.ForKind.VECTORIZED, body)
    func = tir.PrimFunc((source, target, scale), loop)
    return func.with_attr("global_symbol", "main")


def _vector_statement(draw: Draw, scope: _Scope, target: tir.Buffer) -> tir.Stmt:
    kind = draw(st.sampled_from(("store", "store", "if", "let", "for")))
    if kind == "store":
        place = draw(st.sampled_from((scope.ints[0], scope.ints[0] * 2)))
        value = _value(draw, scope, "int32", 3)
        return target.vstore([place], tir.FloorMod(value, LARGE))
    if kind == "if":
        condition = _condition(draw, scope)
        then_case, else_case = (_vector_statement(draw, scope, target) for _ in "12")
        return tir.IfThenElse(condition, then_case, else_case)
    var = tir.Var(f"v{len(scope.ints)}")
    inner = scope._replace(ints=(*scope.ints, var))
    if kind == "let":
        value = _value(draw, scope, "int32", 2)
        return tir.LetStmt(var, value, _vector_statement(draw, inner, target))
    return tir.For(
        var, 0, 3, tir.ForKind.SERIAL, _vector_statement(draw, inner, target)
    )


def _buffer(draw: Draw, name: str, dtypes: tuple[str, ...]) -> tir.Buffer:
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=2))
    return tir.decl_buffer(shape, draw(st.sampled_from(dtypes)), name)


def _with_memory(draw: Draw, scope: _Scope) -> tir.Stmt:
    memory = _buffer(draw, "own", ("int32",))
    inner = scope._replace(buffers=(*scope.buffers, memory))
    body = _statement(draw, inner, 3)
    indices = [tir.Var(f"f{at}", "int32") for at in range(len(memory.shape))]
    filled: tir.Stmt = tir.BufferStore(memory, draw(st.integers(-3, 3)), indices)
    for var, dim in zip(indices[::-1], memory.shape[::-1], strict=True):
        filled = tir.For(var, 0, dim, tir.ForKind.SERIAL, filled)
    both = tir.SeqStmt((filled, body))
    return tir.Allocate(memory.data, "int32", memory.shape, None, both)


def _statement(draw: Draw, scope: _Scope, depth: int) -> tir.Stmt:
    kinds = ["store", "store"]
    if depth > 0:
        kinds += ["seq", "if", "let"]
        kinds += ["for", "for"] if scope.loops < MAX_LOOPS else []
    return _STATEMENTS[draw(st.sampled_from(kinds))](draw, scope, depth)


def _store(draw: Draw, scope: _Scope, depth: int) -> tir.Stmt:
    del depth
    buffer = draw(st.sampled_from(scope.buffers))
    value = _value(draw, scope, buffer.dtype, 2)
    if buffer.dtype == "int32":
        value = tir.FloorMod(value, LARGE)
    return tir.BufferStore(buffer, value, _indices(draw, scope, buffer))


def _seq(draw: Draw, scope: _Scope, depth: int) -> tir.Stmt:
    count = draw(st.integers(2, 3))
    return tir.SeqStmt([_statement(draw, scope, depth - 1) for _ in range(count)])


def _if(draw: Draw, scope: _Scope, depth: int) -> tir.Stmt:
    condition = _condition(draw, scope)
    then_case = _statement(draw, scope, depth - 1)
    if draw(st.booleans()):
        return tir.IfThenElse(condition, then_case)
    return tir.IfThenElse(condition, then_case, _statement(draw, scope, depth - 1))


def _let(draw: Draw, scope: _Scope, depth: int) -> tir.Stmt:
    var = tir.Var(f"v{len(scope.ints)}", "int32")
    inner = scope._replace(ints=(*scope.ints, var))
    value = _value(draw, scope, "int32", 1)
    return tir.LetStmt(var, value, _statement(draw, inner, depth - 1))


def _for(draw: Draw, scope: _Scope, depth: int) -> tir.Stmt:
    var = tir.Var(f"i{len(scope.ints)}", "int32")
    inner = scope._replace(ints=(*scope.ints, var), loops=scope.loops + 1)
    begin, extent = draw(st.integers(0, 2)), draw(st.integers(0, MAX_EXTENT))
    kinds = (tir.ForKind.SERIAL, tir.ForKind.SERIAL, tir.ForKind.UNROLLED)
    kind = draw(st.sampled_from(kinds))
    return tir.For(var, begin, extent, kind, _statement(draw, inner, depth - 1))


_STATEMENTS = {"store": _store, "seq": _seq, "if": _if, "let": _let, "for": _for}


def _indices(draw: Draw, scope: _Scope, buffer: tir.Buffer) -> list[tir.PrimExpr]:
    return [
        tir.floormod(_value(draw, scope._replace(buffers=()), "int32", 1), dim)
        for dim in buffer.shape
    ]


def _condition(draw: Draw, scope: _Scope) -> tir.PrimExpr:
    lhs, rhs = (_value(draw, scope, "int32", 1) for _ in range(2))
    compared = draw(st.sampled_from((tir.LT, tir.LE, tir.GT, tir.EQ, tir.NE)))
    found: tir.PrimExpr = compared(lhs, rhs)
    if draw(st.integers(0, 3)) == 0:
        return tir.likely(found)
    if draw(st.booleans()):
        return tir.all(found, _value(draw, scope, "int32", 0) >= 0)
    return found


def _value(draw: Draw, scope: _Scope, dtype: str, depth: int) -> tir.PrimExpr:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return _leaf(draw, scope, dtype)
    if dtype == "float32" and draw(st.integers(0, 4)) == 0:
        return tir.Cast("float32", _value(draw, scope, "int32", depth - 1))
    a = _value(draw, scope, dtype, depth - 1)
    if dtype == "int32" and draw(st.integers(0, 3)) == 0:
        divide = draw(st.sampled_from((tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod)))
        return divide(a, draw(st.sampled_from((-3, 1, 2, 4, 7))))
    if draw(st.integers(0, 4)) == 0:
        return tir.Mul(a, tir.const(draw(st.integers(-4, 8)), dtype))
    b = _value(draw, scope, dtype, depth - 1)
    if draw(st.integers(0, 5)) == 0:
        return tir.Select(_condition(draw, scope), a, b)
    kinds = (tir.Add, tir.Sub, tir.Min, tir.Max)
    return draw(st.sampled_from(kinds))(a, b)


def _leaf(draw: Draw, scope: _Scope, dtype: str) -> tir.PrimExpr:
    loads = [one for one in scope.buffers if one.dtype == dtype]
    if loads and draw(st.booleans()):
        buffer = draw(st.sampled_from(loads))
        return tir.BufferLoad(
            buffer, _indices(draw, scope._replace(buffers=()), buffer)
        )
    if dtype == "int32" and scope.ints and draw(st.booleans()):
        return draw(st.sampled_from(scope.ints))
    return tir.const(draw(st.integers(-4, 8)), dtype)
