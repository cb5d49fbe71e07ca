from __future__ import annotations

import numpy as np
import pytest

from parpass import relay
from parpass.errors import UntypedError
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, TupleWrapper
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import SimplifyInference
from parpass.relay.transform.simplify.simplify_inference import simplify_inference
from parpass.relay.type_inference.infer import infer_type
from parpass.runtime.dtypes import numpy_dtype
from tests.support.relay.deep import DEPTHS


def batch_norm(
    shape: tuple[int, ...], axis: int, dtype: str = "float32", **options: object
) -> TupleWrapper:
    names = ["gamma", "beta", "mean", "var"]
    vectors = [relay.var(name, shape=(shape[axis],), dtype=dtype) for name in names]
    data = relay.var("data", shape=shape, dtype=dtype)
    return relay.nn.batch_norm(data, *vectors, axis=axis, **options)


def written_out(shape: tuple[int, ...], axis: int, dtype: str) -> Function:
    names = ["gamma", "beta", "mean", "var"]
    vectors = [relay.var(name, shape=(shape[axis],), dtype=dtype) for name in names]
    params = relay.var("data", shape=shape, dtype=dtype), *vectors
    behind = len(shape) - 1 - axis

    def along(vector: Expr) -> Expr:
        return relay.expand_dims(vector, 1, behind) if behind else vector

    one, epsilon = relay.const(1.0), relay.const(1e-5)
    if dtype == "float32":
        data, gamma, beta, mean, var = params
        scale = relay.multiply(one / relay.sqrt(var + epsilon), gamma)
        shift = relay.add(relay.multiply(relay.negative(mean), scale), beta)
        return Function(params, data * along(scale) + along(shift))
    data, gamma, beta, mean, var = (relay.cast(one, "float32") for one in params)
    centred = data - along(mean)
    normal = centred * along(one / relay.sqrt(var + epsilon))
    result = normal * along(gamma) + along(beta)
    return Function(params, relay.cast(result, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((1, 8, 4, 4), 1), ((1, 4, 4, 8), 3), ((2, 8), 1), ((8, 2), 0)]
)
def test_batch_norm_becomes_scale_and_shift_or_centres_narrow_floats(
    shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    body = batch_norm(shape, axis, dtype)[0]
    before = infer_type(Function(tuple(free_vars(body)), body))
    after = written_out(shape, axis, dtype)
    assert_structural_equal(simplify_inference(before), infer_type(after))


def value_of(expr: Expr) -> np.ndarray:
    function = Function(tuple(free_vars(expr)), expr)
    values: list[np.ndarray] = []
    for param in function.params:
        draw = np.random.default_rng([ord(letter) for letter in param.name_hint])
        found = param.type_annotation
        assert isinstance(found, TensorType)
        values.append(draw.uniform(0.5, 2, found.concrete_shape).astype(found.dtype))
    return np.asarray(evaluate(function, values))


def names_in(expr: Expr) -> set[str]:
    calls = [node for node in post_order(expr) if isinstance(node, Call)]
    return {getattr(call.op, "name", "") for call in calls}


data = relay.var("data", shape=(2, 3, 4, 5))
channels = relay.var("gamma", shape=(3,)), relay.var("beta", shape=(3,))
fours = relay.var("gamma", shape=(4,)), relay.var("beta", shape=(4,))
last = relay.var("gamma", shape=(5,)), relay.var("beta", shape=(5,))


@pytest.mark.parametrize(
    "expr",
    [
        batch_norm((2, 3, 4, 5), 1)[0],
        batch_norm((2, 3, 4, 5), -1)[0],
        batch_norm((2, 3, 4, 5), 1, epsilon=0.1)[0],
        batch_norm((2, 3, 4, 5), 1, scale=False)[0],
        batch_norm((2, 3, 4, 5), 1, center=False)[0],
        relay.nn.layer_norm(data, *last),
        relay.nn.layer_norm(data, *channels, axis=1, epsilon=0.1),
        relay.nn.layer_norm(data, *last, scale=False, center=False),
        relay.nn.instance_norm(data, *channels),
        relay.nn.instance_norm(data, *last, axis=3, scale=False),
        relay.nn.instance_norm(data, *channels, epsilon=0.1, center=False),
        relay.nn.group_norm(data, *channels, num_groups=3),
        relay.nn.group_norm(data, *channels, num_groups=1, epsilon=0.1),
        relay.nn.group_norm(data, *fours, num_groups=2, axis=2, scale=False),
        relay.nn.group_norm(data, *last, num_groups=5, axis=-1, center=False),
        relay.nn.l2_normalize(data, 1e-3, [1]),
        relay.nn.l2_normalize(data, 10.0, [2, 3]),
        relay.nn.dropout(relay.exp(data)),
    ],
)
def test_what_is_written_out_means_the_same(expr: Expr) -> None:
    typed = infer_type(expr)
    simplified = infer_type(simplify_inference(typed))
    assert not any(name.startswith("nn.") for name in names_in(simplified))
    assert simplified.checked_type == typed.checked_type
    np.testing.assert_allclose(
        value_of(simplified), value_of(expr), rtol=2e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_is_written_out_of_narrow_floats_is_rounded_once(dtype: str) -> None:
    x = np.array([[40000, 40000, 40000, 100], [65504, -65504, 100, 0]])
    x, ones, zeros = (
        np.asarray(one).astype(numpy_dtype(dtype)) for one in (x, [1] * 4, [0] * 4)
    )
    gamma, beta = relay.const(ones), relay.const(zeros)
    normal = relay.nn.layer_norm(relay.const(x), gamma, beta)
    written = simplify_inference(infer_type(normal))
    wide = x.astype("float64")
    off = wide - wide.mean(1, keepdims=True)
    exact = off / wide.std(1, keepdims=True)
    found = evaluate(written)
    assert found.dtype == numpy_dtype(dtype)
    last = 2.0 ** (-8 if dtype == "bfloat16" else -11)
    np.testing.assert_allclose(found.astype("float64"), exact, 1.01 * last, 1e-5)


def test_an_untyped_program_is_an_error_that_names_infer_type() -> None:
    with pytest.raises(UntypedError, match="InferType"):
        simplify_inference(relay.nn.l2_normalize(relay.exp(data), 1e-3))


def test_it_is_a_function_pass_of_level_0_that_requires_types_7_13() -> None:
    info = SimplifyInference().info
    assert (info.opt_level, tuple(info.required)) == (0, ("InferType",))


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_chain_of_dropouts_is_simplified(depth: int) -> None:
    typed = infer_type(data)
    body: Expr = typed
    for _ in range(depth // 2):
        body = relay.nn.dropout(body)
    assert simplify_inference(infer_type(body)) is typed
