from __future__ import annotations

import numpy as np
import pytest

import parpass as tvm
from parpass.errors import ArgumentError
from parpass.runtime.devices import Device


def test_the_processor_is_a_device() -> None:
    assert tvm.cpu(0) == tvm.device("cpu", 0) == tvm.device("llvm -mcpu=x") == tvm.cpu()
    assert str(tvm.cpu(1)) == "cpu(1)"
    assert (tvm.cpu().device_type, tvm.cpu().exist) == (1, True)


@pytest.mark.parametrize("kind", ["cuda", "", 2])
def test_others_are_refused(kind: int | str) -> None:
    with pytest.raises(ArgumentError, match=f"expected device 'cpu', got '{kind}'"):
        tvm.device(kind)


def test_an_array_is_a_copy_beside_the_processor() -> None:
    values = np.ones(3, "float32")
    array = tvm.nd.array(values, tvm.cpu(0))
    values[0] = 2
    assert array.numpy().tolist() == [1, 1, 1]
    assert array.device == tvm.nd.cpu(0)
    assert tvm.nd.array(array) is array
    with pytest.raises(ArgumentError, match=r"expected device cpu\(0\), got 2\(0\)"):
        tvm.nd.array(values, Device(2))
