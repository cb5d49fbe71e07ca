"""One generator of well-typed calls for each operator that is told at run time."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from parpass.relay.expr import const
from parpass.relay.op import dyn
from tests.support.relay.op.calls import bools, floats, ints
from tests.support.relay.op.shapes import (
    SIDES,
    Built,
    Maker,
    axis,
    broadcastable,
    choice,
    flag,
    number,
    shape,
    vector,
)


def over(name: str) -> Maker:
    """Return the maker of reductions."""

    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw)
        places = st.permutations(range(len(dims)))
        axes = draw(places)[: number(draw, 0, len(dims))]
        data = bools(*dims) if name in ("all", "any") else floats(*dims)
        return getattr(dyn, name)(data, vector(axes), flag(draw))

    return make


def reshape(draw: st.DrawFn) -> Built:
    a, b, c = (draw(SIDES) for _ in range(3))
    code = choice(draw, (0, -1), (-1,), (-3, 0), (0, -3), (c, b, a), (0, c, -1))
    return dyn.reshape(floats(a, b, c), vector(code), flag(draw) and 0 not in code)


def squeeze(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    ones = [at for at, dim in enumerate(dims) if dim == 1]
    return dyn.squeeze(floats(*dims), vector(ones))


def expand_dims(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    place = const(np.int32(axis(draw, len(dims) + 1)))
    return dyn.expand_dims(floats(*dims), place, number(draw, 0, 2))


def broadcast_to(draw: st.DrawFn) -> Built:
    data, like = broadcastable(draw, 2)
    return dyn.broadcast_to(floats(*data), vector(np.broadcast_shapes(data, like)))


def pad(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    widths = ints(len(dims), 2, low=0, high=3)
    return dyn.nn.pad(floats(*dims), widths, 7.0, choice(draw, "constant", "edge"))


def strided_slice(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    count = number(draw, 1, len(dims))
    begin, end = (ints(count, low=-5, high=6, seed=number(draw, 0, 9)) for _ in "be")
    steps = vector([choice(draw, -2, -1, 1, 2) for _ in range(count)])
    return dyn.strided_slice(floats(*dims), begin, end, steps)


def topk(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    at = axis(draw, len(dims))
    kind = choice(draw, "both", "values", "indices")
    k = const(np.int64(number(draw, 0, dims[at])))
    return dyn.topk(ints(*dims, low=0, high=3), k, at, kind, flag(draw), "int64")


def one_hot(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    depth = const(np.int64(draw(SIDES)))
    at = axis(draw, len(dims) + 1)
    picked = ints(*dims, low=-1, high=5)
    return dyn.one_hot(picked, 2.0, 0.0, depth, at, choice(draw, "float32", "int8"))


def resize2d(draw: st.DrawFn) -> Built:
    last = flag(draw)
    sides = number(draw, 1, 4), number(draw, 1, 4)
    data = floats(1, *sides, 2) if last else floats(1, 2, *sides)
    size = vector((number(draw, 1, 6), number(draw, 1, 6)))
    return dyn.image.resize2d(data, size, "NHWC" if last else "NCHW")


def upsampling(draw: st.DrawFn) -> Built:
    high, wide = (const(choice(draw, 1.0, 1.5, 2.0), "float64") for _ in "hw")
    return dyn.nn.upsampling(floats(1, 2, *shape(draw, 2, 2)), high, wide)


def upsampling3d(draw: st.DrawFn) -> Built:
    deep, high, wide = (const(number(draw, 1, 2)) for _ in "dhw")
    return dyn.nn.upsampling3d(floats(1, 2, *shape(draw, 3, 3)), deep, high, wide)


def sparse_to_dense(draw: st.DrawFn) -> Built:
    rank, count = number(draw, 1, 3), number(draw, 1, 4)
    places = ints(count, rank, low=0, high=3)
    return dyn.sparse_to_dense(places, vector((3,) * rank), floats(count), 0.0)


DYNAMIC: dict[str, Maker] = {
    **{f"dyn.{name}": over(name) for name in [
        "all", "any", "max", "mean", "min", "prod", "sum",
    ]},
    "dyn.reshape": reshape,
    "dyn.squeeze": squeeze,
    "dyn.expand_dims": expand_dims,
    "dyn.broadcast_to": broadcast_to,
    "dyn.tile": lambda draw: dyn.tile(floats(*shape(draw)), vector(shape(draw, 1))),
    "dyn.full": lambda draw: dyn.full(
        2, vector(shape(draw)), choice(draw, "", "float64")
    ),
    "dyn.image.resize2d": resize2d,
    "dyn.nn.pad": pad,
    "dyn.nn.upsampling": upsampling,
    "dyn.nn.upsampling3d": upsampling3d,
    "dyn.sparse_to_dense": sparse_to_dense,
    "dyn.strided_slice": strided_slice,
    "dyn.topk": topk,
    "dyn.one_hot": one_hot,
}  # fmt: skip
