"""What packed functions read of the structures that they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import tir
from parpass.errors import EvaluationError
from parpass.tir.interpreter.evaluation import evaluate, evaluate_packed
from parpass.tir.interpreter.memory import PackedValues, TensorStructure


def reading(dtype: str, index: int, field: int) -> tir.PrimFunc:
    handle = tir.Var("handle", "handle")
    found = tir.call_intrin(dtype, "tir.tvm_struct_get", handle, index, field)
    return tir.PrimFunc((handle,), tir.Evaluate(tir.ret(found)))


@pytest.mark.parametrize(
    ("field", "wanted"), [(4, 2), (5, 2), (6, 32), (7, 1), (8, 0), (9, 0), (10, 1)]
)
def test_a_tensor_has_the_parts_of_dlpack(field: int, wanted: int):
    tensor = TensorStructure(np.zeros((2, 3), "float32"))
    assert evaluate(reading("int32", 0, field), [tensor]) == wanted


@pytest.mark.parametrize(
    ("given", "index", "field"),
    [
        (TensorStructure(np.zeros(2)), 0, 12),
        (TensorStructure(np.zeros(2)), 1, 4),
        (TensorStructure(np.zeros(2)), 0, 99),
        (PackedValues([1]), 1, 12),
        (PackedValues([1]), 0, 4),
        (np.zeros(2), 0, 4),
    ],
)
def test_a_part_that_is_not_there_is_refused(given: Any, index: int, field: int):
    with pytest.raises(EvaluationError, match="expected"):
        evaluate(reading("int32", index, field), [given])


def test_values_that_are_packed_have_codes():
    found = PackedValues([1, 2.5, None, np.zeros(1), np.float32(1), np.int8(1)])
    assert found.codes.tolist() == [0, 2, 4, 13, 2, 0]


def test_an_array_of_steps_backward_is_refused():
    with pytest.raises(EvaluationError, match="steps forward"):
        TensorStructure(np.zeros(4)[::-1])


def test_a_function_that_is_not_packed_is_refused():
    with pytest.raises(EvaluationError, match="expected a packed function"):
        evaluate_packed(tir.PrimFunc((), tir.Evaluate(0)))
