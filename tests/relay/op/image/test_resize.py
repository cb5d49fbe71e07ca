"""Resizing: what neighbours count, in little memory."""

from __future__ import annotations

import numpy as np
import pytest

from parpass.relay.expr import const
from parpass.relay.op import image
from tests.support.relay.op.calls import value


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_what_is_infinite_stays_where_it_is(method: str) -> None:
    data = const(np.array([[[1, 1, np.inf, 1, 1, 1, 1, 1]]], "float32"))
    found = value(image.resize1d(data, 16, method=method))
    assert not np.isnan(found).any()
    assert (found[..., 10:] == 1).all()


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_long_axes_are_resized_in_little_memory(method: str) -> None:
    data = const(np.ones((1, 1, 100_000), "float32"))
    assert (value(image.resize1d(data, 99_999, method=method)) == 1).all()
