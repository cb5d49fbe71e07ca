"""MakeUnpackedAPI: a pointer for each buffer, as C has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import IRError, ParpassError
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import MakeUnpackedAPI

FOR_C = {"global_symbol": "main", "target": "c"}


def rewritten(func: tir.PrimFunc, attrs: dict[str, Any] = FOR_C) -> Any:
    given = func.with_attr(attrs) if attrs else func
    return MakeUnpackedAPI()(IRModule({"main": given}))["main"]


def adding() -> tir.PrimFunc:
    a = tir.decl_buffer((4,), "int32", "A")
    n, i = tir.Var("n"), tir.Var("i")
    stored = tir.BufferStore(a, tir.BufferLoad(a, [i]) + n, [i])
    return tir.PrimFunc((a, n), tir.For(i, 0, 4, 0, stored))


def test_parameters_are_bound_to_new_ones_scalars_first():
    func = rewritten(adding())
    assert [(one.name, one.dtype) for one in func.params] == [
        *(("arg0", "handle"), ("arg1", "int32")),
    ]
    of_id, of_type = func.body, func.body.body
    assert (of_id.attr_key, int(of_id.value)) == ("device_id", 0)
    assert (of_type.attr_key, int(of_type.value)) == ("device_type", 1)
    scalar, pointer = of_type.body, of_type.body.body
    assert (scalar.var.name, scalar.value) == ("n", func.params[1])
    assert (pointer.var.name, pointer.value) == ("A", func.params[0])
    assert str(func.ret_type) == "int32"
    assert function_faults(func) == []


def test_the_function_computes_what_it_did():
    found = np.arange(4, dtype="int32")
    evaluate(rewritten(adding()), [found, 5])
    assert found.tolist() == [5, 6, 7, 8]


def test_without_buffers_no_device_is_named():
    n = tir.Var("n")
    assert isinstance(rewritten(tir.PrimFunc((n,), tir.Evaluate(n))).body, tir.LetStmt)


def test_pointers_that_are_to_be_one_are_checked():
    a = tir.decl_buffer((4,), "int32", "A")
    func = rewritten(tir.PrimFunc((a, a), a.vstore([0], 1)))
    check = func.body.body.body.body
    assert isinstance(check, tir.AssertStmt)
    assert check.condition.a is a.data  # type: ignore[attr-defined]
    assert check.condition.b is func.params[1]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"target": "c"}, "Expect PrimFunc to have the global_symbol attribute"),
        ({"global_symbol": "main"}, "Require the target attribute"),
        ({"global_symbol": "main", "target": "cuda"}, "expected device 'cpu'"),
    ],
)
def test_what_has_no_name_or_no_processor_is_refused(
    attrs: dict[str, Any], message: str
):
    with pytest.raises(ParpassError, match=message):
        rewritten(adding(), attrs)


def test_sizes_that_nobody_gives_are_refused():
    n = tir.SizeVar("n")
    a = tir.decl_buffer((n,), "int32", "A")
    with pytest.raises(IRError, match="Not all Vars are passed in api_args: 'n'"):
        rewritten(tir.PrimFunc((a,), a.vstore([n - 1], 1)))


def test_a_function_that_says_how_it_is_called_stays():
    func = adding().with_attr("calling_conv", 1)
    assert rewritten(func, {}) is func
