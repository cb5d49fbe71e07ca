from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from parpass.errors import FrontendError, MalformedModelError
from tests.support.onnx.models import (
    assert_agrees,
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
)


def ints(*values: int) -> Any:
    return np.asarray(values, np.int64)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value": numpy_helper.from_array(random(2, 3))}, random(2, 3)),
        ({"value_float": 0.5}, np.float32(0.5)),
        ({"value_int": 7}, np.int64(7)),
        ({"value_floats": [0.5, 1.5]}, np.asarray([0.5, 1.5], np.float32)),
        ({"value_ints": [1, 2]}, ints(1, 2)),
    ],
)
def test_constant_takes_each_kind_of_number(
    attributes: dict[str, Any], expected: Any
) -> None:
    result = evaluate(imported(one_node("Constant", **attributes)))
    assert result.dtype == expected.dtype
    assert result.tolist() == expected.tolist()


def test_a_constant_of_text_is_refused() -> None:
    with pytest.raises(FrontendError, match="a tensor or numbers for its value"):
        imported(one_node("Constant", value_string="text"))


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", [None, "float32", "int64"])
def test_constant_of_shape_agrees(shape: tuple[int, ...], dtype: str | None) -> None:
    given: dict[str, Any] = {}
    if dtype is not None:
        given["value"] = numpy_helper.from_array(np.asarray([2], dtype))
    assert_agrees("ConstantOfShape", ints(*shape), known=(0,), **given)


def test_a_shape_may_depend_on_data() -> None:
    mod = imported(one_node("ConstantOfShape", ints(2, 3)))
    assert evaluate(mod, ints(2, 3)).shape == (2, 3)
    assert evaluate(mod, ints(4, 1)).shape == (4, 1)


def test_a_shape_may_come_from_a_constant_node() -> None:
    data = random(2, 3)
    nodes = [
        helper.make_node("Constant", [], ["c"], value_ints=[3, 2]),
        helper.make_node("Identity", ["c"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    result = evaluate(imported(graph_model(nodes, {"x": data}, ["y"])), data)
    assert result.tolist() == data.reshape(3, 2).tolist()


@pytest.mark.parametrize(
    "shape", [(24,), (2, -1), (0, 0, -1), (0, -1, 2, 2), (4, 3, 2), (-1, 1, 24)]
)
def test_reshape_agrees(shape: tuple[int, ...]) -> None:
    assert_agrees("Reshape", random(2, 3, 4), ints(*shape), known=(1,))


def test_reshape_may_mean_zero_as_it_is() -> None:
    model = one_node("Reshape", random(0, 3), ints(0, 9), known=(1,), allowzero=1)
    assert evaluate(imported(model), random(0, 3)).shape == (0, 9)
    model = one_node("Reshape", random(0, 3), ints(3, 0), known=(1,), allowzero=1)
    assert evaluate(imported(model), random(0, 3)).shape == (3, 0)


@pytest.mark.parametrize("shape", [(5, 5), (-1, -1), (-2, 3), (5, -1)])
def test_a_reshape_that_does_not_fit_is_a_fault(shape: tuple[int, ...]) -> None:
    model = one_node("Reshape", random(2, 3, 4), ints(*shape), known=(1,))
    with pytest.raises(MalformedModelError, match=r"shape \(2, 3, 4\) cannot take"):
        imported(model)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten_agrees(axis: int) -> None:
    assert_agrees("Flatten", random(2, 3, 4), axis=axis)


@pytest.mark.parametrize("perm", [None, (0, 2, 1), (2, 0, 1)])
def test_transpose_agrees(perm: tuple[int, ...] | None) -> None:
    given: dict[str, Any] = {} if perm is None else {"perm": perm}
    assert_agrees("Transpose", random(2, 3, 4), **given)


def test_a_transpose_that_is_no_permutation_is_a_fault() -> None:
    with pytest.raises(
        MalformedModelError, match="is not a permutation of 3 dimensions"
    ):
        imported(one_node("Transpose", random(2, 3, 4), perm=[0, 0, 1]))


@pytest.mark.parametrize("axes", [(0,), (1, 2), (2, 0), (-1,), (-1, 1)])
def test_unsqueeze_agrees(axes: tuple[int, ...]) -> None:
    assert_agrees("Unsqueeze", random(2, 3), ints(*axes), known=(1,), opset=13)
    model = one_node("Unsqueeze", random(2, 3), axes=axes, opset=11)
    expected = np.expand_dims(random(2, 3), axes)
    assert evaluate(imported(model), random(2, 3)).shape == expected.shape


def test_unsqueeze_of_one_axis_twice_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="expected axes that differ"):
        imported(one_node("Unsqueeze", random(2), axes=[0, 0], opset=9))


@pytest.mark.parametrize("axes", [None, (0,), (0, 2), (-1,)])
def test_squeeze_agrees(axes: tuple[int, ...] | None) -> None:
    given = [] if axes is None else [ints(*axes)]
    assert_agrees("Squeeze", random(1, 3, 1), *given, known=(1,))


def test_squeeze_before_opset_13_has_its_axes_as_an_attribute() -> None:
    model = one_node("Squeeze", random(1, 3, 1), axes=[0], opset=9)
    assert evaluate(imported(model), random(1, 3, 1)).shape == (3, 1)


def test_squeeze_of_a_larger_dimension_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="are not all of size 1"):
        imported(one_node("Squeeze", random(1, 3, 1), axes=[1], opset=9))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [1, 3])
def test_concat_agrees(axis: int, count: int) -> None:
    parts = [random(2, 3, seed=seed) for seed in range(count)]
    assert_agrees("Concat", *parts, axis=axis)


def test_parts_that_do_not_fit_are_a_fault_that_names_the_node() -> None:
    model = one_node("Concat", random(2, 3), random(3, 4), axis=0)
    with pytest.raises(MalformedModelError, match=r"node 1 \(Concat 'y'\): "):
        imported(model)


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_cast_agrees(dtype: str) -> None:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    assert_agrees("Cast", 3 * random(2, 3), to=code)


def test_a_cast_to_text_is_refused() -> None:
    with pytest.raises(FrontendError, match="a cast to element type 8 is not"):
        imported(one_node("Cast", random(2), to=TensorProto.STRING))


def test_identity_is_its_input() -> None:
    mod = imported(one_node("Identity", random(2)))
    assert mod["main"].body is mod["main"].params[0]
