"""One generator of well-typed calls for each operator, but those of networks.

That of an operator without attributes follows from its type relation, if that is one of
those that many have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from parpass.ir.op.op_table import TypeRelationFn
from parpass.relay import op
from parpass.relay.expr import Constant, const
from parpass.relay.op import Op
from parpass.relay.op.declaration.type_relations import (
    bool_broadcast,
    comparison,
    float_identity,
    integer_broadcast,
    integral_broadcast,
    number_broadcast,
    number_identity,
    predicate,
)
from tests.support.relay.op.calls import bools, floats, ints
from tests.support.relay.op.shapes import (
    SIDES,
    Built,
    Maker,
    axis,
    binary,
    broadcastable,
    choice,
    flag,
    indices,
    integral,
    logical,
    number,
    numeric,
    optional_axis,
    reduction,
    scan,
    shape,
    unary,
    vector,
)


def where(draw: st.DrawFn) -> Built:
    condition, x, y = broadcastable(draw, 3)
    return op.where(bools(*condition), floats(*x), floats(*y))


def joined(draw: st.DrawFn) -> Built:
    dims = list(shape(draw, 1))
    at = axis(draw, len(dims))
    fields: list[Constant] = []
    for length in draw(st.lists(SIDES, min_size=1, max_size=3)):
        dims[at] = length
        fields.append(floats(*dims))
    return op.concatenate(fields, at)


def stacked(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    fields = [floats(*dims, seed=at) for at in range(number(draw, 1, 3))]
    return op.stack(fields, axis(draw, len(dims) + 1))


def split(draw: st.DrawFn) -> Built:
    dims = list(shape(draw, 1))
    at = axis(draw, len(dims))
    if flag(draw):
        parts = number(draw, 1, 3)
        dims[at] *= parts
        return op.split(floats(*dims), parts, at)
    places = draw(st.lists(st.integers(0, dims[at]), max_size=3))
    return op.split(floats(*dims), sorted(places), at)


def take(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    mode = choice(draw, "clip", "wrap")
    if flag(draw):
        at = axis(draw, len(dims))
        shared = number(draw, 0, at % len(dims))
        places = (*dims[:shared], *shape(draw, 0, 2))
        return op.take(floats(*dims), ints(*places), at, shared, mode)
    return op.take(floats(*dims), ints(*shape(draw)), mode=mode)


def gather(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    at = axis(draw, len(dims))
    places = [number(draw, 1, dim) for dim in dims]
    places[at] = draw(SIDES)
    return op.gather(floats(*dims), at, indices(*places, below=dims[at]))


def gather_nd(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    shared = number(draw, 0, len(dims) - 1)
    depth = number(draw, 1, len(dims) - shared)
    places = depth, *dims[:shared], *shape(draw, 0, 2)
    below = min(dims[shared : shared + depth])
    return op.gather_nd(floats(*dims), indices(*places, below=below), shared)


def adv_index(draw: st.DrawFn) -> Built:
    dims = shape(draw, 2)
    places = broadcastable(draw, number(draw, 1, 2))
    picks = [indices(*one, below=dims[at]) for at, one in enumerate(places)]
    return op.adv_index([floats(*dims), *picks])


def scatter_elements(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    at = axis(draw, len(dims))
    places = [number(draw, 1, dim) for dim in dims]
    mode = choice(draw, "update", "add", "mul", "mean", "min", "max")
    picked = indices(*places, below=dims[at])
    return op.scatter_elements(floats(*dims), picked, floats(*places), at, mode)


def scatter_nd(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    depth = number(draw, 1, len(dims))
    places = shape(draw, 0, 2)
    picked = indices(depth, *places, below=min(dims[:depth]))
    mode = choice(draw, "update", "add", "mul", "min", "max")
    updates = floats(*places, *dims[depth:])
    return op.scatter_nd(floats(*dims), picked, updates, mode)


def sparse_to_dense(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1, 3)
    count = draw(SIDES)
    places = (count, len(dims)) if len(dims) > 1 or flag(draw) else (count,)
    picked = indices(*places, below=min(dims))
    return op.sparse_to_dense(picked, dims, floats(count), 7.0)


def strided_slice(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    count = number(draw, 1, len(dims))
    bounds = st.lists(st.integers(-5, 5), min_size=count, max_size=count)
    axes = draw(st.none() | st.permutations(range(len(dims)))) if flag(draw) else None
    axes = None if axes is None else axes[:count]
    if flag(draw):
        begin = draw(st.lists(st.just(0), min_size=count, max_size=count))
        sizes = draw(st.lists(st.integers(-1, 1), min_size=count, max_size=count))
        data = floats(*dims)
        return op.strided_slice(data, begin, sizes, axes=axes, slice_mode="size")
    steps = st.lists(st.sampled_from([-2, -1, 1, 2]), min_size=count, max_size=count)
    return op.strided_slice(
        floats(*dims), draw(bounds), draw(bounds), draw(steps), axes
    )


def strided_set(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    begin = [number(draw, 0, dim - 1) for dim in dims]
    value = floats(*(dim - start for dim, start in zip(dims, begin, strict=True)))
    strides = [1] * len(dims) if flag(draw) else None
    return op.strided_set(floats(*dims), value, begin, dims, strides)


def slice_like(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    like = [number(draw, 1, dim) for dim in dims]
    axes = draw(st.none() | st.lists(st.sampled_from(range(len(dims))), unique=True))
    return op.slice_like(floats(*dims), floats(*like), axes)


def one_hot(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    picked = ints(*dims, low=-1, high=5)
    at = axis(draw, len(dims) + 1)
    return op.one_hot(
        picked, 2.0, 0.0, draw(SIDES), at, choice(draw, "float32", "int8")
    )


def reverse_sequence(draw: st.DrawFn) -> Built:
    dims = shape(draw, 2)
    seq, batch = draw(st.permutations(range(len(dims))))[:2]
    lengths = ints(dims[batch], low=0, high=dims[seq] + 1)
    return op.reverse_sequence(floats(*dims), lengths, seq, batch - len(dims))


def sequence_mask(draw: st.DrawFn) -> Built:
    dims, at = shape(draw, 2), number(draw, 0, 1)
    return op.sequence_mask(floats(*dims), ints(dims[1 - at], low=0), -1.0, at)


def unravel_index(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    picked = indices(*shape(draw, 0, 2), below=int(np.prod(dims)))
    return op.unravel_index(picked, vector(dims))


def matrix_set_diag(draw: st.DrawFn) -> Built:
    dims = shape(draw, 2)
    rows, columns = dims[-2:]
    low = number(draw, 1 - rows, columns - 1)
    high = number(draw, low, columns - 1)
    longest = min(rows + min(high, 0), columns - max(low, 0))
    many = () if low == high else (high - low + 1,)
    align = choice(draw, "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT", "LEFT_LEFT")
    diagonal = floats(*dims[:-2], *many, longest, seed=1)
    return op.matrix_set_diag(floats(*dims), diagonal, (low, high), align)


def einsum(draw: st.DrawFn) -> Built:
    a, b, c = (draw(SIDES) for _ in range(3))
    batch = shape(draw, 0, 2)
    return choice(
        draw,
        op.einsum([floats(a, b), floats(b, c)], "ij,jk->ik"),
        op.einsum([floats(a, b), floats(b, c)], "ij,jk"),
        op.einsum([floats(*batch, a, b), floats(b)], "...ij, j -> i..."),
        op.einsum([floats(a, a)], "ii->"),
        op.einsum([floats(*batch, a), floats(*batch, a)], "...i,...i"),
    )


def arange(draw: st.DrawFn) -> Built:
    step = choice(draw, -2, -1, 1, 3)
    bounds = number(draw, -5, 5), number(draw, -5, 5), step
    return op.arange(*bounds, dtype=choice(draw, "int32", "float32"))


def meshgrid(draw: st.DrawFn) -> Built:
    fields = [floats(*shape(draw, 0, 1)) for _ in range(number(draw, 1, 3))]
    return op.meshgrid(fields, choice(draw, "ij", "xy"))


def reshape(draw: st.DrawFn) -> Built:
    a, b, c, d = (draw(SIDES) for _ in range(4))
    data = floats(a, b, c * d)
    code = choice(
        draw, (0, -1), (-1,), (-2,), (0, -2), (-3, 0), (0, -3), (0, 0, -4, c, d),
        (0, 0, -4, -1, d), (-1, c, d), (0, -1, d), (a * b, 0 if b == c * d else -1),
    )  # fmt: skip
    return op.reshape(data, code)


def reshape_like(draw: st.DrawFn) -> Built:
    a, b, c = (draw(SIDES) for _ in range(3))
    return choice(
        draw,
        op.reshape_like(floats(a * b, c), floats(a, b, c)),
        op.reshape_like(floats(a * b, c), floats(a, b, 9), 0, 1, 0, 2),
        op.reshape_like(floats(c, a * b), floats(a, b), lhs_begin=1),
    )


def layout_transform(draw: st.DrawFn) -> Built:
    n, c, h, w, block = (draw(SIDES) for _ in range(5))
    return choice(
        draw,
        op.layout_transform(floats(n, c, h, w), "NCHW", "NHWC"),
        op.layout_transform(floats(n, c * block, h, w), "NCHW", f"NCHW{block}c"),
        op.layout_transform(floats(n, h, w, c, block), f"NHWC{block}c", "NCHW"),
        op.layout_transform(floats(c * 2, n * 3, h, w), "OIHW", "OIHW3i2o"),
    )


def transpose(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    axes = draw(st.none() | st.permutations(range(len(dims))))
    return op.transpose(floats(*dims), axes)


def squeeze(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    ones = [at for at, dim in enumerate(dims) if dim == 1]
    return op.squeeze(floats(*dims), choice(draw, None, ones))


def broadcast_to(draw: st.DrawFn) -> Built:
    data, like = broadcastable(draw, 2)
    return op.broadcast_to(floats(*data), np.broadcast_shapes(data, like))


def broadcast_to_like(draw: st.DrawFn) -> Built:
    data, like = broadcastable(draw, 2)
    whole = np.broadcast_shapes(data, like)
    return op.broadcast_to_like(floats(*data), ints(*whole))


def collapse_sum_like(draw: st.DrawFn) -> Built:
    data, like = broadcastable(draw, 2)
    whole = np.broadcast_shapes(data, like)
    return op.collapse_sum_like(ints(*whole), floats(*data))


def collapse_sum_to(draw: st.DrawFn) -> Built:
    data, like = broadcastable(draw, 2)
    return op.collapse_sum_to(ints(*np.broadcast_shapes(data, like)), data)


def reverse_reshape(draw: st.DrawFn) -> Built:
    a, b, c = (draw(SIDES) for _ in range(3))
    code = choice(draw, (0, 0), (-1, 0), (-1,), (-2,), (-3, 0), (0, -3), (-1, 0, 0))
    data = floats(b, c) if code in ((0, 0), (-1, 0)) else floats(a, b, c)
    return op.reverse_reshape(data, code)


def repeat(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    return op.repeat(floats(*dims), draw(SIDES), optional_axis(draw, len(dims)))


def topk(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    at = axis(draw, len(dims))
    kind = choice(draw, "both", "values", "indices")
    data = ints(*dims, low=0, high=3)
    return op.topk(data, number(draw, 0, dims[at]), at, kind, flag(draw), "int64")


def sort(name: str) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw, 1)
        return getattr(op, name)(floats(*dims), axis(draw, len(dims)), flag(draw))

    return make


def searchsorted(draw: st.DrawFn) -> Built:
    rows, many = shape(draw, 0, 2), draw(SIDES)
    found = const(np.sort(floats(*rows, many).data.numpy()))
    return op.searchsorted(found, floats(*rows, draw(SIDES), seed=1), flag(draw))


# Operators without attributes whose type relation says of what their arguments may be.
_MAKERS: dict[TypeRelationFn, Callable[[str], Maker]] = {
    float_identity: unary,
    number_identity: numeric,
    predicate: unary,
    comparison: binary,
    number_broadcast: binary,
    bool_broadcast: logical,
    integer_broadcast: integral,
    integral_broadcast: integral,
}


def _by_relation() -> dict[str, Maker]:
    declared = [Op.get(name) for name in Op.list_op_names() if name in op.__all__]
    return {
        one.name: _MAKERS[one.relation](one.name)
        for one in declared
        if one.attrs_type is None and one.relation in _MAKERS
    }


TENSORS: dict[str, Maker] = {
    **_by_relation(),
    **{name: unary(name) for name in [
        "copy", "ndarray_size", "ones_like", "shape_of", "zeros_like",
    ]},
    **{name: reduction(name) for name in [
        "argmax", "argmin", "max", "mean", "min", "prod", "sum", "variance",
    ]},
    **{name: reduction(name, bools) for name in ["all", "any"]},
    **{name: scan(name) for name in ["cumprod", "cumsum"]},
    **{name: sort(name) for name in ["argsort", "sort"]},
    "bitwise_not": lambda draw: op.bitwise_not(ints(*shape(draw))),
    "logical_not": lambda draw: op.logical_not(bools(*shape(draw))),
    "where": where,
    "cast": lambda draw: op.cast(ints(*shape(draw)), choice(draw, "int8", "float64")),
    "cast_like": lambda draw: op.cast_like(ints(*shape(draw)), floats(2)),
    "reinterpret": lambda draw: op.reinterpret(ints(*shape(draw)), "float32"),
    "clip": lambda draw: op.clip(floats(*shape(draw)), -1, 1),
    "full": lambda draw: op.full(2, shape(draw), choice(draw, "", "float64")),
    "zeros": lambda draw: op.zeros(shape(draw), "int8"),
    "ones": lambda draw: op.ones(shape(draw), "float32"),
    "full_like": lambda draw: op.full_like(ints(*shape(draw)), 7),
    "concatenate": joined,
    "stack": stacked,
    "split": split,
    "take": take,
    "gather": gather,
    "gather_nd": gather_nd,
    "adv_index": adv_index,
    "argwhere": lambda draw: op.argwhere(bools(*shape(draw, 1))),
    "scatter_elements": scatter_elements,
    "scatter_nd": scatter_nd,
    "sparse_to_dense": sparse_to_dense,
    "strided_slice": strided_slice,
    "strided_set": strided_set,
    "slice_like": slice_like,
    "reverse": lambda draw: op.reverse(
        floats(*(s := shape(draw, 1))), axis(draw, len(s))
    ),
    "repeat": repeat,
    "tile": lambda draw: op.tile(floats(*shape(draw)), shape(draw, 1)),
    "one_hot": one_hot,
    "reverse_sequence": reverse_sequence,
    "sequence_mask": sequence_mask,
    "unravel_index": unravel_index,
    "matrix_set_diag": matrix_set_diag,
    "trilu": lambda draw: op.trilu(
        floats(*shape(draw, 2)), number(draw, -3, 3), flag(draw)
    ),
    "einsum": einsum,
    "arange": arange,
    "meshgrid": meshgrid,
    "reshape": reshape,
    "reshape_like": reshape_like,
    "layout_transform": layout_transform,
    "transpose": transpose,
    "expand_dims": lambda draw: op.expand_dims(
        floats(*(s := shape(draw))), axis(draw, len(s) + 1), number(draw, 0, 2)
    ),
    "squeeze": squeeze,
    "broadcast_to": broadcast_to,
    "broadcast_to_like": broadcast_to_like,
    "collapse_sum_like": collapse_sum_like,
    "collapse_sum_to": collapse_sum_to,
    "contrib_reverse_reshape": reverse_reshape,
    "vm.shape_of": lambda draw: op.vm.shape_of(floats(*shape(draw))),
    "topk": topk,
    "searchsorted": searchsorted,
    "annotation.checkpoint": lambda draw: op.annotation.checkpoint(
        floats(*shape(draw))
    ),
    "annotation.stop_fusion": lambda draw: op.annotation.stop_fusion(
        floats(*shape(draw))
    ),
    "debug": lambda draw: op.debug(floats(*shape(draw)), lambda _value: None),
    "on_device": lambda draw: op.annotation.on_device(floats(*shape(draw)), "cpu"),
    "device_copy": lambda draw: op.device_copy(floats(*shape(draw)), 1, 2),
}  # fmt: skip
