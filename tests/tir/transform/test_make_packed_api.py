"""MakePackedAPI: arguments as TVM's runtime passes them, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import EvaluationError
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate_packed
from parpass.tir.transform import MakePackedAPI, PrimFuncPass

PACKED = ["args", "arg_type_ids", "num_args"]
RESULTS = ["out_ret_value", "out_ret_tcode", "resource_handle"]


def rewritten(func: tir.PrimFunc, a_pass: PrimFuncPass | None = None) -> Any:
    given = func.with_attr({"global_symbol": "main", "target": "llvm -mcpu=any"})
    return (a_pass or MakePackedAPI())(IRModule({"main": given}))["main"]


def program() -> tir.PrimFunc:
    """Return `A[i, 2] = m + i`, and `B[i]` the same as a float."""
    n, m, i = tir.SizeVar("n"), tir.Var("m"), tir.Var("i")
    a = tir.decl_buffer((n, 4), "int32", "A")
    b = tir.decl_buffer((n,), "float32", "B", strides=[tir.Var("step")])
    both = [
        tir.BufferStore(a, m + i, [i, 2]),
        b.vstore([i], a.vload([i, 2]).astype("float32")),
    ]
    return tir.PrimFunc((a, b, m), tir.For(i, 0, n, 0, tir.SeqStmt(both)))


def arguments() -> tuple[Any, Any, Any]:
    return np.zeros((3, 4), "int32"), np.zeros(6, "float32")[::2], 7


@pytest.mark.parametrize(("unpacked", "own"), [(-1, []), (0, []), (1, ["arg2"])])
def test_the_function_computes_what_it_did(unpacked: int, own: list[str]):
    func = rewritten(program(), MakePackedAPI(unpacked))
    assert [one.name for one in func.params] == [*PACKED, *own, *RESULTS]
    assert function_faults(func) == []
    a, b, m = arguments()
    assert evaluate_packed(func, [a, b, m]) is None
    assert a[:, 2].tolist() == b.tolist() == [7, 8, 9]


A, B, _ = arguments()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([A, B], "main: num_args should be 3"),
        ([A, B, 2.5], r"main: Expect arg\[2\] to be int"),
        ([A, 3, 1], r"main: Expect arg\[1\] to be pointer"),
        ([A.astype("int64"), B, 1], "arg0.dtype is expected to be int32"),
        ([A[0], B, 1], "arg0.ndim is expected to equal 2"),
        ([A, B[:2], 1], r"Argument arg1.shape\[0\] has an unsatisfied constraint: "),
        ([A[:, :3].copy(), B, 1], r"Argument arg0.shape\[1\] has an unsatisfied"),
        ([A.T.copy().T, B, 1], "arg0.strides: expected to be compact array"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args: list[Any], message: str):
    with pytest.raises(EvaluationError, match=message):
        evaluate_packed(rewritten(program()), args)


def test_strides_that_are_broadcast_are_0_where_there_is_one_element():
    n, i = tir.SizeVar("n"), tir.Var("i")
    a = tir.decl_buffer((n,), "int32", "A", buffer_type="auto_broadcast")
    b = tir.decl_buffer((4,), "int32", "B")
    body = tir.For(i, 0, 4, 0, b.vstore([i], a.vload([i])))
    func = rewritten(tir.PrimFunc((a, b), body))
    for given in (np.array([5], "int32"), np.arange(5, 9, dtype="int32")):
        found = np.zeros(4, "int32")
        evaluate_packed(func, [given, found])
        assert found.tolist() == np.broadcast_to(given, 4).tolist()


def test_an_offset_is_found_in_elements_and_divided_by_its_factor():
    a = tir.decl_buffer((4,), "int32", "A", offset_factor=8)
    func = rewritten(tir.PrimFunc((a,), a.vstore([1], 3)))
    found = np.zeros(4, "int32")
    evaluate_packed(func, [found])
    assert found.tolist() == [0, 3, 0, 0]
