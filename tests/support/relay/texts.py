"""Hypothesis strategies for the parts of programs that matter to their text.

The programs mean nothing: names, attributes, types and constants are of every kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import FuncType, TensorType, TupleType, Type, TypeVar
from parpass.relay.expr import Call, Constant, Function, GlobalVar, Let, Tuple, Var
from parpass.runtime.ndarray import NDArray

NAMES = st.one_of(
    st.sampled_from(["x", "x_1", "0", "a/b:0", "let", "fn", "inff", "", "é"]), st.text()
)
_DTYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]

_TENSOR_TYPES = st.builds(
    TensorType,
    st.lists(st.integers(0, 2**40) | st.builds(UnknownDim), max_size=3).map(tuple),
    st.sampled_from([*_DTYPES, "bfloat16"]),
)


def types(params: tuple[TypeVar, ...] = ()) -> st.SearchStrategy[Type]:
    """Give types over some type parameters."""
    leaves: st.SearchStrategy[Type] = _TENSOR_TYPES
    if params:
        leaves |= st.sampled_from(params)
    return st.recursive(leaves, _compound_types, max_leaves=4)


def _compound_types(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    several = st.lists(inner, max_size=3).map(tuple)
    return st.builds(TupleType, several) | st.builds(FuncType, several, inner)


FLOATS = st.floats()
_INTS = st.integers(-(2**63), 2**64 - 1)
_LEAVES = st.one_of(st.none(), st.booleans(), _INTS, FLOATS, st.text(), _TENSOR_TYPES)
VALUES: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(NAMES, VALUES, max_size=3)


@st.composite
def constants(draw: st.DrawFn) -> Constant:
    """Give scalars and small tensors of every dtype, some of one repeated value."""
    dtype = draw(st.sampled_from(_DTYPES))
    shape = draw(st.sampled_from([(), (), (2,), (0, 3), (2, 1)]))
    array = draw(arrays.arrays(dtype, shape))
    if shape and array.size and draw(st.booleans()):
        array = np.broadcast_to(array.flat[0], (1000, 3))
    return Constant(NDArray(array))


@st.composite
def decorated_modules(draw: st.DrawFn) -> IRModule:
    """Give modules with odd names, attributes, types and constants."""
    module = IRModule(attrs=draw(ATTRIBUTES))
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        module[GlobalVar(name)] = draw(_functions())
    return module


@st.composite
def _functions(draw: st.DrawFn) -> Function:
    type_params = draw(st.sampled_from([(), (TypeVar("A"), TypeVar("B_1"))]))
    annotations = st.none() | types(type_params)
    variables = st.builds(Var, NAMES, annotations)
    params = tuple(draw(st.lists(variables, max_size=3)))
    local, *fields = draw(variables), *params, *draw(st.lists(constants(), max_size=4))
    clip = Op.get("clip")
    assert clip.attrs_type is not None
    limits = clip.attrs_type(a_min=draw(FLOATS), a_max=draw(FLOATS))  # pyright: ignore[reportCallIssue] -- the class is known by its operator only
    call = Call(clip, (local,), limits)
    body = Let(local, Tuple(tuple(fields)), Tuple((local, call, call)))
    closure = Function((), body, draw(annotations), attrs=draw(ATTRIBUTES))
    given = draw(st.lists(types(type_params), max_size=2))
    whole = Call(closure, tuple(params), draw(ATTRIBUTES) or None, tuple(given))
    return Function(params, whole, draw(annotations), type_params, draw(ATTRIBUTES))
