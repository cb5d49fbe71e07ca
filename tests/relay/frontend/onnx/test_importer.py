from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from parpass.errors import FrontendError, MalformedModelError, UnsupportedOpsError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Tuple
from parpass.relay.transform import InferType
from tests.support.cpu_time import cpu_limit
from tests.support.onnx.models import evaluate, graph_model, imported, one_node, random


def relu(name: str = "graph") -> onnx.ModelProto:
    node = helper.make_node("Relu", ["x"], ["y"])
    return graph_model([node], {"x": random(2)}, ["y"], name=name)


def test_one_model_becomes_main(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(relu().SerializeToString())
    for given in (relu(), path, str(path), [path]):
        assert list(imported(given).functions_by_name) == ["main"]


def test_many_models_are_named_after_their_files_and_graphs(tmp_path: Path) -> None:
    path = tmp_path / "2nd net-v1.onnx"
    path.write_bytes(relu().SerializeToString())
    mod = imported([relu("a/b"), path, relu("a b"), relu("")])
    assert list(mod.functions_by_name) == ["a_b", "_2nd_net_v1", "a_b_1", "model"]


def test_spans_have_files_by_name_and_by_path_if_two_have_the_name(
    tmp_path: Path,
) -> None:
    paths = [tmp_path / folder / "net.onnx" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(relu().SerializeToString())
    for given, names in ([paths[0]], ["net.onnx"]), (paths, [*map(str, paths)]):
        mod = imported(given)
        assert list(mod.sources) == names
        spans = [one.body.span for one in mod.functions_by_name.values()]
        assert [one and one.source_name for one in spans] == names


def test_a_mapping_names_its_functions() -> None:
    mod = imported({"first": relu(), "second": relu()})
    assert list(mod.functions_by_name) == ["first", "second"]


def test_inputs_without_an_initializer_become_parameters_in_order() -> None:
    node = helper.make_node("Sum", ["b", "w", "a/0"], ["y"])
    model = graph_model(
        [node],
        {"b": random(2, 3), "w": random(3), "unused": random(1), "a/0": random(3)},
        ["y"],
        known={"w": random(3), "dummy": random(7)},
    )
    params = imported(model)["main"].params
    assert [param.name_hint for param in params] == ["b", "unused", "a/0"]
    assert params[0].type_annotation == TensorType((2, 3), "float32")


def test_several_outputs_become_a_tuple() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Neg", ["y"], ["z"]),
    ]
    body = imported(graph_model(nodes, {"x": random(2)}, ["z", "y"]))["main"].body
    assert isinstance(body, Tuple)
    first, second = body.fields
    assert isinstance(first, Call)
    assert first.args == (second,)


def with_open_shape(*dims: int | str | None) -> onnx.ModelProto:
    model = relu()
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, dims)
    model.graph.input[0].CopyFrom(given)
    return model


@pytest.mark.parametrize("open_dim", ["batch", None, -1])
def test_an_open_dimension_is_unknown_unless_it_is_given(
    open_dim: int | str | None,
) -> None:
    model = with_open_shape(open_dim, 3)
    (param,) = imported(model)["main"].params
    assert param.type_annotation == TensorType((UnknownDim(), 3), "float32")
    (param,) = imported(model, shape={"x": (4, 3)})["main"].params
    assert param.type_annotation == TensorType((4, 3), "float32")


def test_a_model_of_open_dimensions_runs_on_every_size() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["dims"]),
        helper.make_node("Gather", ["dims", "first"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["flat"], axis=0),
        helper.make_node("Reshape", ["x", "flat"], ["y"]),
        helper.make_node("MatMul", ["y", "w"], ["z"]),
        helper.make_node("Flatten", ["z"], ["out"], axis=0),
    ]
    known = {"first": np.array([0]), "rest": np.array([-1]), "w": random(6, 4)}
    model = graph_model(nodes, {"x": random(1, 2, 3)}, ["out"], known=known)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    mod = InferType()(imported(model))
    assert mod["main"].ret_type == TensorType((1, UnknownDim()), "float32")
    for size in (1, 3):
        data = random(size, 2, 3)
        wanted = (data.reshape(size, 6) @ known["w"]).reshape(1, -1)
        np.testing.assert_allclose(evaluate(mod, data), wanted, rtol=1e-5)


def test_what_needs_the_size_of_an_open_dimension_says_how_to_give_it() -> None:
    arrays = random(1, 1, 3, 3), random(1, 1, 2, 2)
    model = one_node("Conv", *arrays, known=(1,), auto_pad="SAME_UPPER")
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    with pytest.raises(FrontendError) as caught:
        imported(model)
    assert str(caught.value) == (
        "main: node 1 (Conv 'y'): the shape of its input must be known here, but it "
        "is Tensor[(1, 1, ?, 3), float32] (inputs: x0: Tensor[(1, 1, ?, 3), float32], "
        "x1: Tensor[(1, 1, 2, 2), float32]); open are 'x0' of (1, 1, height, 3); pass "
        "from_onnx lengths by dim=, or whole shapes by shape=, with your lengths "
        "instead of 1: dim={'height': 1}"
    )
    assert not isinstance(caught.value, MalformedModelError)


def test_an_input_without_a_type_takes_shape_and_dtype() -> None:
    model = relu()
    model.graph.input[0].CopyFrom(helper.make_empty_tensor_value_info("x"))
    with pytest.raises(FrontendError, match="open are 'x' of no shape; pass"):
        imported(model)
    for dtype in ("float64", {"x": "float64"}):
        (param,) = imported(model, shape={"x": (4,)}, dtype=dtype)["main"].params
        assert param.type_annotation == TensorType((4,), "float64")


def test_a_shape_for_an_input_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FrontendError, match="'data_0', but no model has such an input"):
        imported(relu(), shape={"data_0": (1,)})


def test_an_input_of_text_is_refused() -> None:
    model = relu()
    text = helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [2])
    model.graph.input[0].CopyFrom(text)
    with pytest.raises(FrontendError, match="element type 8, which is not numeric"):
        imported(model)


def test_an_input_that_is_no_tensor_is_refused() -> None:
    model = relu()
    many = helper.make_tensor_sequence_value_info("x", onnx.TensorProto.FLOAT, [2])
    model.graph.input[0].CopyFrom(many)
    with pytest.raises(FrontendError, match="a tensor for input 'x', got a sequence"):
        imported(model)


def test_opset_wins_over_the_model() -> None:
    model = one_node("Unsqueeze", random(2), axes=[0], opset=13)
    with pytest.raises(FrontendError):
        imported(model)
    assert evaluate(imported(model, opset=11), random(2)).shape == (1, 2)


def test_every_expression_of_a_node_leads_to_its_line_in_the_listing() -> None:
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="last", alpha=0.5)
    known = {"w": random(3, 4), "b": random(4)}
    nodes = [helper.make_node("Relu", ["d"], ["x"]), node]
    mod = imported({"net": graph_model(nodes, {"d": random(2, 3)}, ["y"], known=known)})
    call = mod["net"].body
    for _ in range(3):
        assert isinstance(call, Call)
        assert call.span is not None
        assert (call.span.source_name, call.span.line) == ("net", 2)
        call = call.args[0]
    assert isinstance(call, Call)
    assert call.span is not None
    assert call.span.line == 1
    assert mod.sources["net"].splitlines() == [
        "x = Relu(d)",
        "y = Gemm(x, w, b)  # last",
    ]


def test_all_unsupported_operators_of_all_models_are_listed_with_their_counts() -> None:
    custom = one_node("Gelu", random(2), domain="com.example")
    strange = [helper.make_node("Strange", ["x"], [name]) for name in "yz"]
    models = {
        "first": custom,
        "second": graph_model(strange, {"x": random(2)}, ["z"]),
        "third": relu(),
    }
    with pytest.raises(UnsupportedOpsError) as caught:
        imported(models)
    assert caught.value.counts == {"com.example::Gelu": 1, "Strange": 2}
    assert str(caught.value) == (
        "first, second: unsupported operators: Strange (2 x), com.example::Gelu (1 x)"
    )


def test_unsupported_operators_inside_of_subgraphs_are_counted() -> None:
    strange = helper.make_node("Strange", [], ["z"])
    inner = helper.make_graph([strange], "inner", [], [])
    model = one_node("If", np.array(True), then_branch=inner, else_branch=inner)
    with pytest.raises(UnsupportedOpsError) as caught:
        imported(model)
    assert caught.value.counts == {"Strange": 2}


def test_a_name_that_nothing_defines_is_a_fault() -> None:
    node = helper.make_node("Add", ["x", "ghost"], ["y"], name="plus")
    with pytest.raises(MalformedModelError) as caught:
        imported(graph_model([node], {"x": random(2)}, ["y"]))
    assert str(caught.value) == (
        "main: node 1 (Add 'plus'): it reads 'ghost', that nothing defines"
    )


def test_an_output_that_nothing_defines_is_a_fault() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    with pytest.raises(MalformedModelError, match="it reads 'z', that nothing defines"):
        imported(graph_model([node], {"x": random(2)}, ["z"]))


def test_nodes_out_of_order_are_a_fault() -> None:
    nodes = [
        helper.make_node("Relu", ["y"], ["z"]),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    with pytest.raises(
        MalformedModelError, match="'y', that only a later node defines"
    ):
        imported(graph_model(nodes, {"x": random(2)}, ["z"]))


def test_a_name_defined_twice_is_a_fault() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])] * 2
    with pytest.raises(MalformedModelError, match="'y' is defined twice"):
        imported(graph_model(nodes, {"x": random(2)}, ["y"]))


def test_types_that_do_not_fit_are_a_fault_that_names_the_node() -> None:
    model = one_node("Add", random(2), random(3))
    with pytest.raises(MalformedModelError, match=r"main: node 1 \(Add 'y'\): "):
        imported(model)


def test_sizes_that_no_memory_holds_are_a_fault_that_names_the_node() -> None:
    eye = helper.make_node("EyeLike", ["x"], ["y"])
    model = graph_model([eye], {"x": random(2, 2)}, ["y"])
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        dim.dim_value = 10**7
    with (
        cpu_limit(20),
        pytest.raises(FrontendError, match=r"node 1 \(EyeLike.*not fit in memory"),
    ):
        imported(model)


def test_more_dimensions_than_any_tensor_has_are_a_fault() -> None:
    axes = np.arange(50_000)
    unsqueeze = helper.make_node("Unsqueeze", ["x", "axes"], ["y"])
    model = graph_model([unsqueeze], {"x": random(2)}, ["y"], known={"axes": axes})
    told = "at most 64 dimensions, got 50001"
    with cpu_limit(20), pytest.raises(MalformedModelError, match=told):
        imported(model)


@pytest.mark.parametrize(
    ("op_type", "given", "wanted"),
    [
        ("Erf", [1, 2], [0, 0]),
        ("Shrink", [1, 3, -3], [0, 1, -1]),
        ("ReduceL2", [3, 4], [5]),
        ("ReduceLogSum", [3, 9], [2]),
        ("ReduceLogSumExp", [3, 9], [9]),
    ],
)
def test_operators_of_floats_take_integers_where_onnx_does(
    op_type: str, given: list[int], wanted: list[int]
) -> None:
    data = np.array(given, "int32")
    how: dict[str, Any] = {"bias": 1.5, "lambd": 1.5} if op_type == "Shrink" else {}
    model = one_node(op_type, data, **how)
    found = evaluate(imported(model), data)
    assert found.dtype == data.dtype
    assert found.tolist() == wanted


def test_a_number_that_integers_do_not_have_is_never_cut_off() -> None:
    model = one_node("Gemm", *[np.ones((2, 2), "int32")] * 2, alpha=0.5)
    with pytest.raises(FrontendError, match=r"0\.5 is not supported for"):
        imported(model)


def test_valid_models_that_we_cannot_type_are_not_called_malformed() -> None:
    model = one_node("Tile", random(2, 2), np.array([0, 1]), known=(1,))
    with pytest.raises(FrontendError) as caught:
        imported(model)
    assert not isinstance(caught.value, MalformedModelError)


def test_a_chain_deeper_than_the_recursion_limit_is_imported() -> None:
    names = [f"v{at}" for at in range(2001)]
    nodes = [
        helper.make_node("Relu", [before], [after])
        for before, after in itertools.pairwise(names)
    ]
    model = graph_model(nodes, {"v0": random(2)}, [names[-1]])
    assert isinstance(imported(model)["main"].body, Call)


@pytest.mark.slow
def test_onnx_is_imported_only_when_a_frontend_is_asked_for() -> None:
    code = (
        "import sys, parpass.relay as relay;"
        "assert 'onnx' not in sys.modules;"
        "sys.modules['onnx'] = None\n"
        "try: relay.frontend.from_onnx\n"
        "except ImportError as error: print(error)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout == (
        "the ONNX frontend needs the onnx package; try: pip install parpass[onnx]\n"
    )
