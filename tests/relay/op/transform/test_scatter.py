from __future__ import annotations

import numpy as np

from parpass.relay import op
from parpass.relay.expr import const
from tests.support.relay.op.calls import bools, value


def test_the_mean_of_bools_is_a_bool():
    data, updates = bools(2, 3), const(np.ones((1, 3), "bool"))
    made = value(
        op.scatter_elements(
            data, const(np.zeros((1, 3), "int32")), updates, reduction="mean"
        )
    )
    assert made.dtype == np.bool_
