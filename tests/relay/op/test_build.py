from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay import op
from parpass.relay.expr import Constant, var
from parpass.relay.op import nn


def test_numbers_and_arrays_become_constants() -> None:
    x = var("x", shape=(2,))
    for operand, dtype in ((1, "int32"), (1.0, "float32"), (np.zeros(2), "float64")):
        first, second = op.add(x, operand).args  # pyright: ignore[reportArgumentType]
        assert first is x
        assert isinstance(second, Constant)
        assert second.data.dtype == dtype


def test_a_builder_takes_expressions_only_not_the_results_of_several() -> None:
    x = var("x", shape=(1, 1, 2, 2))
    several: Any = nn.batch_norm(x, x, x, x, x)
    for build in (lambda: nn.relu(several), lambda: nn.conv2d(several, x)):
        with pytest.raises(IRTypeError) as caught:
            build()
        assert str(caught.value) == (
            "expected a Relay expression or a number, got TupleWrapper"
        )
