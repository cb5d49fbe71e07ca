"""Half floats, bfloat16 and narrower: what is computed on them is what was meant."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay import op
from parpass.relay.expr import const
from parpass.relay.interpreter.values import has_type
from parpass.relay.op import Op, TypeRelationError, nn
from parpass.relay.op.dyn.counterpart import COUNTERPARTS
from parpass.runtime.dtypes import numpy_dtype
from tests.support.profiles import examples
from tests.support.relay.op.calls import Array, related, type_of, value
from tests.support.relay.op.dtypes import rounded, with_floats
from tests.support.relay.op.operators import GENERATED
from tests.support.relay.op.shapes import Built

pytestmark = pytest.mark.hunt  # properties are inside of tests

# Half of the last digit, so far may a value be from the exact one.
HALF_DIGIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


@st.composite
def narrow_calls(draw: st.DrawFn, name: str) -> tuple[Built, str]:
    return GENERATED[name](draw), draw(st.sampled_from(sorted(HALF_DIGIT)))


def fields(found: Any) -> tuple[Array, ...]:
    return cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)


def double(values: Array) -> Array:
    return np.asarray(values).astype("float64")


@pytest.mark.parametrize("name", sorted(GENERATED.keys() - {"reinterpret"}))
def test_a_value_in_few_digits_is_that_of_many_rounded(name: str) -> None:
    @examples(0.2)
    @given(narrow_calls(name))
    def holds(drawn: tuple[Built, str]) -> None:
        built, dtype = drawn
        narrow = with_floats(built, lambda values: rounded(values, dtype))
        exact = with_floats(built, lambda values: double(rounded(values, dtype)))
        assert isinstance(narrow.op, Op)
        found, wanted = value(narrow), value(exact)
        assert has_type(found, related(narrow))
        for one, other in zip(fields(found), fields(wanted), strict=True):
            if one.dtype != numpy_dtype(dtype):
                np.testing.assert_allclose(one, other, 1e-5, 1e-5)
                continue
            other = double(rounded(other, dtype))
            np.testing.assert_allclose(
                double(one), other, 2.1 * HALF_DIGIT[dtype], 1e-5
            )

    holds()


def test_a_sum_of_many_is_no_less_for_few_digits() -> None:
    ones = const(np.ones(1000, numpy_dtype("bfloat16")))
    assert value(op.sum(ones)).item() == 1000
    assert value(op.cumsum(ones)).max() == 1000
    ones = const(np.ones(1000, "float32"))
    assert value(op.cumsum(ones, dtype="bfloat16")).max() == 1000


def test_squares_of_half_floats_do_not_overflow_on_the_way() -> None:
    data = const(np.array([[300.0, -300.0]], "float16"))
    ones = const(np.ones(2, "float16"))
    normal = nn.layer_norm(data, ones, ones)
    assert value(normal).tolist() == [[2.0, 0.0]]


@pytest.mark.parametrize("of", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("to", ["", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("build", [nn.dense, nn.conv1d, nn.conv1d_transpose])
def test_products_have_the_dtype_that_is_asked_for(
    build: Any, of: str, to: str
) -> None:
    shapes = ((2, 300), (3, 300)) if build is nn.dense else ((1, 300, 2), (300, 3, 1))
    if build is nn.conv1d:
        shapes = ((1, 300, 2), (3, 300, 1))
    ones = [const(np.ones(shape, numpy_dtype(of))) for shape in shapes]
    found = value(build(*ones, out_dtype=to))
    assert found.dtype == numpy_dtype(to or of)
    assert (found == 300).all()


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8_e4m3fn"])
def test_narrower_ones_are_computed_and_fit_their_types(dtype: str) -> None:
    data = const(np.array([[1, 2], [3, 1]]).astype(numpy_dtype(dtype)))
    for built in (data + data, op.max(data), nn.dense(data, data), op.sum(data)):
        found = value(built)
        assert type_of(found) == related(built)
    assert value(op.add(data, data)).astype("int32").tolist() == [[2, 4], [6, 2]]


def test_bits_are_moved_as_they_are() -> None:
    bits = np.arange(2**16, dtype="uint16")
    for dtype in ("float16", "bfloat16"):
        halves = op.reinterpret(const(bits), dtype)
        moved = op.transpose(op.reshape(op.concatenate([halves], 0), (256, 256)))
        found = value(op.reinterpret(moved, "uint16"))
        np.testing.assert_array_equal(found, bits.reshape(256, 256).T)


def test_what_moves_bits_does_so_also_when_it_is_told_at_run_time() -> None:
    moving = {name: Op.get(name.removeprefix("dyn.")).moves for name in COUNTERPARTS}
    assert {name: Op.get(name).moves for name in COUNTERPARTS} == moving
    assert any(moving.values())


def test_what_a_relation_refuses_is_refused_in_few_digits_too() -> None:
    half = const(np.ones(2, "float16"))
    with pytest.raises(TypeRelationError):
        related(op.add(half, const(np.ones(2, "float32"))))
