"""RewriteUnsafeSelect: what a guarded load gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import EvaluationError
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import RewriteUnsafeSelect

A = tir.decl_buffer((8,), "int32", "A")
N = tir.Var("n")


def store(value: Any = 1) -> tir.Stmt:
    return tir.BufferStore(A, value, [0])


def test_a_load_is_guarded_where_it_may_be_out_of_bounds():
    load = tir.BufferLoad(A, [N - 1])
    func = tir.PrimFunc((A, N), store(tir.Select(N >= 1, load, tir.const(7))))
    with pytest.raises(EvaluationError, match="got -1"):
        evaluate(func, [np.zeros(8, "int32"), 0])
    after: Any = RewriteUnsafeSelect()(IRModule({"main": func}))["main"]
    array = np.zeros(8, "int32")
    evaluate(after, [array, 0])
    assert array[0] == 7
