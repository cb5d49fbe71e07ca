"""Generated programs that compute in stages, each into memory of its own.

Elements are accessed by `Load` and `Store`. Each memory is written whole before it is
read; what is in scope and written may be read later, at the same place or at others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from parpass import tir

Draw = st.DrawFn

SIZE = 24
MAX_STAGES = 6


class _Memory(NamedTuple):
    pointer: Any
    dtype: str
    size: int


@st.composite
def memory_funcs(draw: Draw) -> Any:
    """Return a PrimFunc of two buffers of `SIZE` ints."""
    builder = tir.ir_builder.create()
    source, target = (tir.decl_buffer((SIZE,), "int32", name) for name in "AB")
    given = _Memory(builder.buffer_ptr(source), "int32", SIZE)
    wanted = _Memory(builder.buffer_ptr(target), "int32", SIZE)
    kind = draw(st.sampled_from(("serial", "parallel", "")))
    if kind:
        with builder.for_range(0, 2, name="round", kind=kind):
            _stages(draw, builder, [given], wanted)
    else:
        _stages(draw, builder, [given], wanted)
    return tir.PrimFunc((source, target), builder.get())


def _stages(draw: Draw, builder: Any, known: list[_Memory], wanted: _Memory) -> None:
    if draw(st.booleans()):
        with builder.new_scope():
            own = _stage(draw, builder, list(known))
            _fill(draw, builder, wanted, [own])
    for _ in range(draw(st.integers(1, MAX_STAGES))):
        known.append(_stage(draw, builder, known[-3:]))
    _fill(draw, builder, wanted, known[-1:])


def _stage(draw: Draw, builder: Any, known: list[_Memory]) -> _Memory:
    """Compute memory, and return it."""
    dtype = draw(st.sampled_from(("int32", "int32", "int32", "int16")))
    size = draw(st.sampled_from((8, 8, 8, 12, 1, SIZE)))
    scope = draw(st.sampled_from(("", "", "", "global.cache", "local")))
    pointer = builder.allocate(dtype, size, name="own", scope=scope)
    own = _Memory(pointer, dtype, size)
    _fill(draw, builder, own, known)
    return own


def _fill(draw: Draw, builder: Any, own: _Memory, known: list[_Memory]) -> None:
    """Write all elements, some at a time, or all of them twice."""
    step = draw(st.sampled_from((1, 1, 2, 4)))
    step = step if own.size % step == 0 else 1
    times = draw(st.sampled_from((1, 1, 1, 2)))
    with (
        builder.for_range(0, times, name="again"),
        builder.for_range(0, own.size // step, name="j") as j,
    ):
        if draw(st.booleans()):
            places = [j * step + k for k in range(step)]
            _elements(draw, builder, own, known, places)
            return
        with builder.for_range(0, step, name="k") as k:
            _elements(draw, builder, own, known, [j * step + k])


def _elements(
    draw: Draw, builder: Any, own: _Memory, known: list[_Memory], places: list[Any]
) -> None:
    for place in places:
        value: Any = place
        for one in known:
            at = draw(st.sampled_from((place, place, place, place + 1, 0)))
            at = (
                at
                if at is place and one.size >= own.size
                else tir.floormod(at, one.size)
            )
            value = value + one.pointer[at].astype("int32")
        value = tir.floormod(value, 1009)
        own.pointer[place] = value.astype(own.dtype)
    if own.size > 1 and draw(st.integers(0, 4)) == 0:
        own.pointer[places[0]] = own.pointer[places[0]] + tir.const(1, own.dtype)
