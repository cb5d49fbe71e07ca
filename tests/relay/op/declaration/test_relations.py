"""Laws of type relations, for generated calls of every operator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass.ir.types.ty import Any as UnknownDim
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, TupleWrapper
from parpass.relay.op import Op, TypeRelationError
from tests.support.dyn_strategies import DYNAMIC
from tests.support.nn_strategies import NETWORKS
from tests.support.op_calls import argument_type, related, type_of, value
from tests.support.op_shapes import Built
from tests.support.op_strategies import TENSORS

GENERATED = TENSORS | NETWORKS | DYNAMIC

# The rank of their results depends on dimensions, so TVM, too, has to know these.
NEED_KNOWN_DIMENSIONS = {"squeeze", "gather_nd", *DYNAMIC}

# Their values say how long the results are.
TOLD_BY_DATA = {"argwhere", *DYNAMIC}


def call_of(built: Built) -> tuple[Call, Op]:
    call = built.astuple() if isinstance(built, TupleWrapper) else built
    assert isinstance(call, Call)
    assert isinstance(call.op, Op)
    return call, call.op


def agrees(general: Type, exact: Type) -> bool:
    """Return whether a type holds for what another one says more exactly."""
    if isinstance(general, TupleType) and isinstance(exact, TupleType):
        same = len(general.fields) == len(exact.fields)
        return same and all(map(agrees, general.fields, exact.fields))
    if not isinstance(general, TensorType) or not isinstance(exact, TensorType):
        return False
    return (
        general.dtype == exact.dtype
        and len(general.shape) == len(exact.shape)
        and all(
            isinstance(dim, UnknownDim) or dim == wanted
            for dim, wanted in zip(general.shape, exact.shape, strict=True)
        )
    )


def blurred(draw: st.DrawFn, found: Type) -> Type:
    """Return a type in which some dimensions are unknown."""
    if isinstance(found, TupleType):
        return TupleType(tuple(blurred(draw, field) for field in found.fields))
    assert isinstance(found, TensorType)
    dims = tuple(UnknownDim() if draw(st.booleans()) else d for d in found.shape)
    return TensorType(dims, found.dtype)


@st.composite
def calls(draw: st.DrawFn, name: str) -> Built:
    """Return a call of an operator."""
    return GENERATED[name](draw)


@st.composite
def blurred_calls(draw: st.DrawFn, name: str) -> tuple[Built, list[Type]]:
    """Return a call, and types of its arguments in which dimensions are unknown."""
    built = GENERATED[name](draw)
    call, _ = call_of(built)
    return built, [blurred(draw, argument_type(arg)) for arg in call.args]


def test_every_operator_has_a_generator() -> None:
    others = ("test.", "tir.")
    shipped = {name for name in Op.list_op_names() if not name.startswith(others)}
    assert set(GENERATED) == shipped


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_the_relation_gives_the_type_of_the_meaning(name: str) -> None:
    @settings(max_examples=6, database=None)
    @given(calls(name))
    def holds(built: Built) -> None:
        call, op = call_of(built)
        assert op.name == name
        assert len(call.args) == op.num_inputs
        with np.errstate(all="ignore"):
            exact = type_of(value(built))
        found = related(built)
        assert agrees(found, exact)
        assert found == exact or name in TOLD_BY_DATA

    holds()


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_unknown_dimensions_make_the_result_no_other(name: str) -> None:
    @settings(max_examples=6, database=None)
    @given(blurred_calls(name))
    def holds(drawn: tuple[Built, list[Type]]) -> None:
        built, types = drawn
        call, op = call_of(built)
        try:
            general = op.relation(types, call.attrs)
        except TypeRelationError:
            assert name in NEED_KNOWN_DIMENSIONS
        else:
            exact = related(built)
            assert agrees(general, exact)

    holds()
