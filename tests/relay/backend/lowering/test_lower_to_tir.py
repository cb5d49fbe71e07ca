"""LowerToTIR: fused functions become kernels, which programs call as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

import parpass
from parpass import IRModule, relay, target, tir
from parpass.errors import EvaluationError
from parpass.ir.types import FuncType, TensorType, TupleType
from parpass.relay.backend.lowering import LowerToTIR, left_to_numpy
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.backend.numpy_function import NumpyFunction
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import FuseOps, InferType
from parpass.relay.type_inference.infer import infer_type
from parpass.runner import Runner
from parpass.tir import PrimFunc
from parpass.tir.interpreter.evaluation import evaluate as evaluate_loops
from parpass.transform import Sequential
from tests.support.relay.lowered import TARGET, results_for

PIPELINE = "InferType,FuseOps{fuse_opt_level=3},LowerToTIR"


def network() -> IRModule:
    """Return two equal layers, and what has no rule."""
    x = relay.var("x", shape=(1, 4, 5, 5))
    w = relay.var("w", shape=(4, 4, 3, 3))
    b = relay.var("b", shape=(4,))
    y: Any = x
    for _ in range(2):
        y = relay.nn.conv2d(y, w, padding=1)
        y = relay.nn.relu(relay.nn.bias_add(y, b))
    y = relay.sort(relay.nn.batch_flatten(y))
    return IRModule.from_expr(relay.Function([x, w, b], y))


def lowered(mod: IRModule) -> IRModule:
    return Sequential([InferType(), FuseOps(3), LowerToTIR()])(mod)


def primitive(params: Any, body: Any) -> relay.Function:
    return infer_type(relay.Function(params, body, attrs={"Primitive": 1}))


def assert_computes(function: relay.Function) -> PrimFunc:
    """Run a function, and its kernel, on random values."""
    func = kernel(function, "main", TARGET)
    rng = np.random.default_rng(0)
    buffers = [func.buffer_map[param] for param in func.params]
    values = [
        rng.standard_normal(tuple(dim.value for dim in one.shape)).astype("float32")
        for one in buffers[: len(function.params)]
    ]
    results = results_for(func)
    evaluate_loops(func, [*values, *results])
    found: Any = evaluate(function, values)
    wanted: Sequence[Any] = (
        cast("Sequence[Any]", found) if isinstance(found, tuple) else (found,)
    )
    for one, other in zip(results, wanted, strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-5)
    return func


def allocations(func: PrimFunc) -> list[int]:
    found: list[int] = []

    def look(node: Any) -> None:
        if isinstance(node, tir.Allocate):
            found.append(int(np.prod([dim.value for dim in node.extents])))

    tir.stmt_functor.post_order_visit(func.body, look)
    return found


def test_fused_functions_become_kernels_and_equal_ones_one():
    mod = lowered(network())
    kernels = [n for n, one in mod.functions_by_name.items() if type(one) is PrimFunc]
    layer = mod["fused_nn_conv2d_nn_bias_add_nn_relu"]
    assert kernels == ["fused_nn_batch_flatten", "fused_nn_conv2d_nn_bias_add_nn_relu"]
    assert type(mod["main"]) is relay.Function
    assert layer.attributes == {
        "global_symbol": "fused_nn_conv2d_nn_bias_add_nn_relu",
        "tir.noalias": True,
        "num_outputs": 1,
    }


def test_the_type_of_a_kernel_is_told_by_its_buffers():
    mod = lowered(network())
    image = TensorType((1, 4, 5, 5))
    vectors = TensorType((4, 4, 3, 3)), TensorType((4,))
    layer = mod["fused_nn_conv2d_nn_bias_add_nn_relu"]
    assert layer.annotated_type == FuncType((image, *vectors), image)
    typed = InferType()(mod)
    parpass.assert_structural_equal(typed, mod)
    assert typed["main"].body.args[0].checked_type == TensorType((1, 100))


def test_a_call_of_a_kernel_with_other_types_is_an_error():
    mod = lowered(network())
    x, layer = relay.var("x", shape=(7,)), "fused_nn_conv2d_nn_bias_add_nn_relu"
    call = relay.Call(mod.get_global_var(layer), (x, x, x))
    mod["main"] = relay.Function([x], call)
    with pytest.raises(parpass.errors.DiagnosticError, match="7"):
        InferType()(mod)


def test_a_lowered_module_goes_through_text_json_and_wire():
    mod = InferType()(lowered(network()))
    parpass.assert_structural_equal(InferType()(relay.parse(mod.astext())), mod)
    parpass.assert_structural_equal(parpass.load_json(parpass.save_json(mod)), mod)


@pytest.mark.slow
def test_workers_lower_to_the_same_module(runner: Runner):
    mod = network()
    pipeline = f"{PIPELINE},InferType"
    serial = parpass.run_pipeline_sync(mod, pipeline, workers=0)
    parpass.assert_structural_equal(runner.run_sync(mod, pipeline), serial)
    assert left_to_numpy(serial) == {"fused_sort": "no rule for 'sort'"}


def test_what_has_no_rule_stays_and_is_computed_by_numpy():
    mod = lowered(network())
    function = mod["fused_sort"]
    assert function.attrs["Compiler"] == "numpy"
    assert function.attrs["global_symbol"] == "fused_sort"
    data = np.random.default_rng(0).random((1, 100)).astype("float32")
    result = np.zeros_like(data)
    NumpyFunction(function)(data, result)
    np.testing.assert_array_equal(result, np.sort(data))
    with pytest.raises(EvaluationError, match="expected 1 arrays and 1 for the"):
        NumpyFunction(function)(data, result, result)


@pytest.mark.slow
def test_programs_that_call_compiled_kernels_have_types():
    mod = target.lowering()(lowered(network()))
    assert type(mod["fused_nn_batch_flatten"]) is target.CompiledFunc
    typed = InferType()(mod)
    assert typed["main"].body.args[0].checked_type == TensorType((1, 100))


def test_what_is_behind_an_anchor_is_computed_in_its_loops():
    x, r = relay.var("x", shape=(1, 3, 4, 4)), relay.var("r", shape=(1, 3, 2, 2))
    s, y = relay.var("s", shape=(3, 1, 1)), relay.nn.adaptive_max_pool2d(x, 2)
    z = relay.nn.relu(relay.add(relay.multiply(y, s), relay.multiply(y, r)))
    func = assert_computes(primitive([x, r, s], z))
    assert allocations(func) == [1]  # the largest so far


def test_what_is_before_an_anchor_is_computed_where_it_is_read():
    x = relay.var("x", shape=(3, 5))
    func = assert_computes(primitive([x], relay.sum(relay.exp(relay.negative(x)), 1)))
    assert allocations(func) == [4]


def test_what_moves_elements_of_an_anchor_gets_them_in_memory():
    x = relay.var("x", shape=(3, 5))
    func = assert_computes(primitive([x], relay.transpose(relay.nn.softmax(x))))
    assert 15 in allocations(func)


def test_what_is_before_a_product_is_computed_once():
    x, w = relay.var("x", shape=(3, 20)), relay.var("w", shape=(7, 20))
    weight = relay.cast(relay.cast(w, "float16"), "float32")
    y = relay.nn.dense(relay.exp(relay.negative(x)), weight)
    assert {60, 140} <= {*allocations(assert_computes(primitive([x, w], y)))}


def test_a_second_anchor_gets_memory_of_its_own():
    x = relay.var("x", shape=(2, 3))
    y, z = relay.max(x, 1), relay.sum(relay.exp(x), 1)
    both = primitive([x], relay.add(relay.nn.relu(y), z))
    assert sorted(allocations(assert_computes(both))) == [1, 1, 2]
    chained = primitive([x], relay.nn.relu(relay.max(relay.nn.relu(y))))
    assert sorted(allocations(assert_computes(chained))) == [1, 1, 2]


def test_a_kernel_has_several_results():
    x, w = relay.var("x", shape=(2, 6)), relay.var("w", shape=(6, 6))
    y = relay.nn.dense(x, w)
    halves = relay.split(x, 2, 1)
    outputs = relay.Tuple([relay.nn.relu(y), y, halves[1], relay.sum(x, 1)])
    function = primitive([x, w], outputs)
    func = assert_computes(function)
    assert func.attributes["num_outputs"] == 4
    assert isinstance(func.annotated_type.ret_type, TupleType)
    assert func.annotated_type == function.checked_type


def test_a_reduction_to_a_scalar_is_computed_before_what_repeats_it():
    x = relay.var("x", shape=(2, 3))
    assert_computes(primitive([x], relay.divide(x, relay.sum(x))))
    assert_computes(primitive([x], relay.sum(x)))


@pytest.mark.slow
def test_long_chains_and_shared_results_are_cut_by_memory():
    x = relay.var("x", shape=(3,))
    y: Any = x
    for _ in range(300):
        y = relay.negative(y)
    assert_computes(primitive([x], y))
    y = x
    for _ in range(40):  # inlined, it would be 2 ** 40 terms
        y = relay.multiply(relay.const(0.5), relay.add(y, y))
    assert_computes(primitive([x], y))
    y = relay.nn.softmax(x)
    for _ in range(12):
        y = relay.multiply(y, relay.sigmoid(y))
    assert_computes(primitive([x], y))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (primitive([x := relay.var("x", shape=(relay.Any(),))], relay.exp(x)), "known"),
        (primitive([x := relay.var("x", shape=(1,))], relay.Tuple([x])), "one field"),
        (
            primitive([], relay.exp(relay.const(np.ones(3, "float32")))),
            "a constant of shape",
        ),
    ],
    ids=["shape", "tuple", "constant"],
)
def test_what_kernels_cannot_have_is_left_to_numpy(function: Any, why: str):
    mod = LowerToTIR()(IRModule({"main": function}))
    assert why in left_to_numpy(mod)["main"]
