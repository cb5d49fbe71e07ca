"""MakeUnpackedAPI: a pointer for each buffer, as C has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from parpass import IRModule, tir
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import MakeUnpackedAPI


def adding() -> tir.PrimFunc:
    a = tir.decl_buffer((4,), "int32", "A")
    n, i = tir.Var("n"), tir.Var("i")
    stored = tir.BufferStore(a, tir.BufferLoad(a, [i]) + n, [i])
    return tir.PrimFunc((a, n), tir.For(i, 0, 4, 0, stored))


def test_the_function_computes_what_it_did():
    found = np.arange(4, dtype="int32")
    given = adding().with_attr({"global_symbol": "main", "target": "c"})
    func: Any = MakeUnpackedAPI()(IRModule({"main": given}))["main"]
    evaluate(func, [found, 5])
    assert found.tolist() == [5, 6, 7, 8]
