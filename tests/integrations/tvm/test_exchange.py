"""PrimFuncs over from TVM, and to it: they compute what they did, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import IRModule, relay, tir
from parpass.errors import ArgumentError
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.type_inference.infer import infer_type
from parpass.target import Target
from parpass.tir.interpreter.evaluation import evaluate
from tests.integrations.tvm.memory_programs import memory_funcs
from tests.support.drawn import shared
from tests.support.profiles import examples
from tests.support.target.compiled import compiled
from tests.support.tir.programs import prim_funcs, vectorized_funcs
from tests.support.tir.values import MAX_STEPS, arguments, assert_same_values

pytestmark = pytest.mark.foreign

FUNCS = shared(st.one_of(prim_funcs(), vectorized_funcs(), memory_funcs()))


def run_by_tvm(mod: Any, args: list[Any]) -> list[Any]:
    """Run `main` of a module of TVM's on arguments; return the arrays among them."""
    import tvm

    given = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    tvm.compile(mod, target="llvm")["main"](*given)
    return [one.numpy() for one in given if not isinstance(one, int)]


def arrays(args: list[Any]) -> list[Any]:
    return [one for one in args if isinstance(one, np.ndarray)]


@given(FUNCS)
def test_what_goes_over_and_comes_back_computes_the_same(func: tir.PrimFunc):
    from parpass.integrations import tvm as ptvm

    back = ptvm.from_tvm(ptvm.to_tvm(func))["main"]
    assert isinstance(back, tir.PrimFunc)
    assert_same_values(func, back)


@pytest.mark.slow
@examples(0.2)
@given(FUNCS)
def test_tvms_library_computes_what_the_interpreter_does(func: tir.PrimFunc):
    from parpass.integrations import tvm as ptvm

    expected = arguments(func)
    evaluate(func, expected, max_steps=MAX_STEPS)
    found = run_by_tvm(ptvm.to_tvm(func), arguments(func))
    for one, other in zip(found, arrays(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def nothing(mod: IRModule) -> IRModule:
    return mod


def passes(mod: IRModule) -> IRModule:
    some = tir.transform
    for one in some.Simplify(), some.UnrollLoop(), some.FlattenBuffer():
        mod = one(mod)
    return mod


@pytest.mark.parametrize("between", [nothing, passes])
def test_tvms_programs_come_back_to_it(between: Callable[[IRModule], IRModule]):
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import program, values

    mod = program(4)
    expected = values(tvm.compile(mod, target="llvm"), mod)
    here = ptvm.from_tvm(mod)
    back = ptvm.to_tvm(between(here))
    for one, other in zip(
        values(tvm.compile(back, target="llvm"), mod), expected, strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_parpass_compiles_what_is_from_tvm():
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import dense

    mod = tvm.IRModule({"main": dense(5, "main")})
    func = ptvm.from_tvm(mod)["main"]
    assert isinstance(func, tir.PrimFunc)
    by_us, by_tvm = arguments(func), run_by_tvm(mod, arguments(func))
    compiled(func)["main"](*by_us)
    np.testing.assert_array_equal(by_us[-1], by_tvm[-1])


@pytest.mark.parametrize(
    "call",
    [
        relay.nn.softmax(relay.var("x", shape=(2, 7))),
        relay.nn.dense(relay.var("x", shape=(4, 16)), relay.var("w", shape=(16, 16))),
        relay.nn.dense(
            relay.var("x", shape=(4, 64), dtype="int8"),
            relay.var("w", shape=(9, 64), dtype="int8"),
            out_dtype="int32",
        ),
        relay.sum(relay.exp(relay.var("x", shape=(3, 40))), axis=1),
        relay.topk(relay.var("x", shape=(3, 40)), 5, ret_type="indices"),
    ],
    ids=["softmax", "dense", "dense of bytes", "sum", "topk"],
)
def test_kernels_of_parpass_are_compiled_by_tvm(call: Any):
    from parpass.integrations import tvm as ptvm

    params = relay.analysis.free_vars(call)
    function = infer_type(relay.Function(params, call, attrs={"Primitive": 1}))
    func = kernel(function, "main", Target("llvm"))
    expected = arguments(func)
    compiled(func)["main"](*expected)
    made = ptvm.to_tvm(func)
    found = run_by_tvm(made, arguments(func))
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-5)
    back = ptvm.from_tvm(made)["main"]
    assert isinstance(back, tir.PrimFunc)
    found = arguments(back)
    compiled(back)["main"](*found)
    np.testing.assert_array_equal(found[-1], expected[-1])


TEXTS = {
    "AssertStmt": 'assert a[0] > 0, "positive"',
    "a call of 'tirx.tvm_call_packed'": 'T.call_packed("f", a[0])',
    "AttrStmt 'thread_extent'": 'for i in T.thread_binding(4, "threadIdx.x"): a[i] = 1',
    "AttrStmt 'key'": 'with T.attr(0, "key", 1): a[0] = 1',
    "a parameter of type": 'b = T.decl_buffer((2,), "int32", data=p)',
}


@pytest.mark.parametrize("what", TEXTS)
def test_what_parpass_has_not_is_named_with_the_function(what: str):
    import tvm

    from parpass.integrations import tvm as ptvm

    params = 'a: T.Buffer((4,), "int32")'
    if "parameter" in what:
        params += ', p: T.handle("int32")'
    func = tvm.script.from_source(
        f"@T.prim_func(s_tir=True)\ndef f({params}):\n    {TEXTS[what]}\n"
    )
    with pytest.raises(ArgumentError, match=f"got {what}.* in function 'f'"):
        ptvm.from_tvm(tvm.IRModule({"f": func}))


def test_views_of_memory_come_over():
    from tvm import tirx

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import dense

    func = ptvm.from_tvm(dense(5, "main"))["main"]
    assert isinstance(func, tir.PrimFunc)
    flattened = tirx.transform.FlattenBuffer()(ptvm.to_tvm(func))
    assert "view" in flattened.script()
    after = ptvm.from_tvm(flattened)["main"]
    assert isinstance(after, tir.PrimFunc)
    assert_same_values(func, after)


def test_functions_that_are_no_prim_funcs_are_refused():
    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import network

    with pytest.raises(ArgumentError, match=r"got a tvm\.relax\.\S+Function, 'main'"):
        ptvm.from_tvm(network())
    x = relay.var("x", shape=(2,))
    with pytest.raises(ArgumentError, match="got a Function, 'main'"):
        ptvm.to_tvm(IRModule.from_expr(relay.Function([x], x)))


def _of(*stmts: Any) -> tir.PrimFunc:
    return tir.PrimFunc([], tir.stmt_seq(*stmts))


@pytest.mark.parametrize(
    ("func", "what"),
    [
        (tir.PrimFunc([tir.Var("h", "handle")], tir.Evaluate(0)), "handle 'h' without"),
        (_of(tir.Evaluate(tir.Var("n"))), "variable 'n', which nothing binds"),
        (_of(tir.AttrStmt(None, "key", 1, tir.Evaluate(0))), "AttrStmt 'key'"),
        (_of(tir.ret(1)), "a call of 'tir.ret'"),
    ],
    ids=["handle", "variable", "attribute", "return"],
)
def test_what_tvm_has_not_is_named_with_the_function(func: tir.PrimFunc, what: str):
    from parpass.integrations import tvm as ptvm

    with pytest.raises(ArgumentError, match=f"got {what}.* in function 'main'"):
        ptvm.to_tvm(func)


def test_deep_values_need_no_stack():
    from tvm import tirx

    from parpass.integrations import tvm as ptvm

    variable = deep = tir.Var("x", "int32")
    for _ in range(4000):
        deep = tir.Add(deep, variable)
    made = ptvm.to_tvm(tir.PrimFunc([variable], tir.Evaluate(deep)))
    assert isinstance(made["main"].body.value, tirx.Add)
    assert ptvm.from_tvm(made)["main"] is not None
