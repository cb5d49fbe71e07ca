"""Laws of type relations, for generated calls of every operator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.op import Op, TypeRelationError
from tests.support.profiles import examples
from tests.support.relay.op.calls import (
    argument_type,
    call_of,
    name_of,
    related,
    type_of,
    value,
)
from tests.support.relay.op.dyn_strategies import DYNAMIC
from tests.support.relay.op.operators import GENERATED
from tests.support.relay.op.shapes import Built

pytestmark = pytest.mark.hunt  # properties are inside of tests

# The rank of their results depends on dimensions, so TVM, too, has to know these.
NEED_KNOWN_DIMENSIONS = {"squeeze", "gather_nd", *DYNAMIC}

# Their values say how long the results are.
TOLD_BY_DATA = {"argwhere", *DYNAMIC}


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
    args = call_of(built).args
    return built, [blurred(draw, argument_type(arg)) for arg in args]


@pytest.mark.parametrize("name", GENERATED)
def test_the_relation_gives_the_type_of_the_meaning(name: str) -> None:
    @examples(0.3)
    @given(calls(name))
    def holds(built: Built) -> None:
        assert name_of(built) == name
        assert len(call_of(built).args) == Op.get(name).num_inputs
        with np.errstate(all="ignore"):
            exact = type_of(value(built))
        found = related(built)
        assert agrees(found, exact)
        assert found == exact or name in TOLD_BY_DATA

    holds()


@pytest.mark.parametrize("name", GENERATED)
def test_unknown_dimensions_make_the_result_no_other(name: str) -> None:
    @examples(0.3)
    @given(blurred_calls(name))
    def holds(drawn: tuple[Built, list[Type]]) -> None:
        built, types = drawn
        try:
            general = Op.get(name).relation(types, call_of(built).attrs)
        except TypeRelationError:
            assert name in NEED_KNOWN_DIMENSIONS
        else:
            exact = related(built)
            assert agrees(general, exact)

    holds()
