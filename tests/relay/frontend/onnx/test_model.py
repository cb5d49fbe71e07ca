from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from parpass.errors import FrontendError, MalformedModelError
from parpass.ir.node import post_order
from parpass.relay.expr import Constant
from parpass.relay.frontend import from_onnx
from parpass.transform import PassContext
from tests.support.onnx.models import graph_model, imported, one_node, random

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SQUEEZENET = (LIGHT / "light_squeezenet.onnx").read_bytes()
SMALL = one_node("Conv", random(1, 1, 3, 3), random(1, 1, 2, 2)).SerializeToString()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "net.onnx"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"This is not a model.\n",
        b"\x89PNG\r\n\x1a\n" + bytes(64),
        b"def @main(%x: Tensor[(1), float32]) { %x }",
    ],
    ids=["empty", "zero", "text", "image", "relay"],
)
def test_a_file_of_another_format_is_malformed(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(MalformedModelError, match="expected an ONNX model") as caught:
        imported(path)
    assert caught.value.source == str(path)


@given(at=st.integers(0, len(SQUEEZENET) - 1))
def test_a_truncated_file_is_malformed_wherever_it_is_cut(path: Path, at: int) -> None:
    path.write_bytes(SQUEEZENET[:at])
    with pytest.raises(MalformedModelError):
        imported(path)


@pytest.mark.slow
def test_every_cut_of_a_small_file_is_malformed(path: Path) -> None:
    for at in range(len(SMALL)):
        path.write_bytes(SMALL[:at])
        with pytest.raises(MalformedModelError):
            imported(path)


@given(content=st.binary(max_size=200))
def test_random_bytes_are_malformed(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(MalformedModelError):
        imported(path)


@given(at=st.integers(0, len(SMALL) - 1), byte=st.integers(0, 255))
def test_a_damaged_byte_gives_a_model_or_our_own_error(
    path: Path, at: int, byte: int
) -> None:
    path.write_bytes(SMALL[:at] + bytes([byte]) + SMALL[at + 1 :])
    with contextlib.suppress(FrontendError):
        imported(path)


def test_a_missing_file_is_the_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        imported(tmp_path / "missing.onnx")


def test_a_directory_is_the_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        imported(tmp_path)


def test_a_model_that_is_cut_between_two_fields_says_what_is_missing() -> None:
    model = onnx.ModelProto(ir_version=8)
    with pytest.raises(MalformedModelError) as caught:
        imported(model)
    assert str(caught.value) == (
        "main: expected an ONNX model; the file is empty, truncated or of another "
        "format: it has no graph, no outputs, no operator versions"
    )


def test_a_model_without_the_version_of_onnx_operators_may_be_given_one() -> None:
    model = one_node("Relu", random(2))
    model.opset_import[0].domain = "com.example"
    with pytest.raises(MalformedModelError, match="set opset="):
        imported(model)
    assert imported(model, opset=13)


def test_operators_that_have_changed_with_opset_7_are_refused() -> None:
    model = one_node("Add", random(2), random(2), opset=6)
    with pytest.raises(FrontendError, match="7 and later, got version 6 of Add; "):
        imported(model)
    assert imported(one_node("Relu", random(2), opset=6))


def test_operators_of_a_version_that_onnx_does_not_know_are_refused() -> None:
    newest = onnx.defs.onnx_opset_version()
    model = one_node("Relu", random(2), opset=newest + 1)
    wanted = f"of versions up to {newest}, .* got version {newest + 1}; a newer onnx"
    with pytest.raises(FrontendError, match=wanted) as caught:
        imported(model)
    assert not isinstance(caught.value, MalformedModelError)
    assert imported(one_node("Relu", random(2), opset=newest))


def test_onnx_operators_may_be_called_by_their_full_domain() -> None:
    model = one_node("Relu", random(2), domain="ai.onnx")
    model.opset_import[0].domain = "ai.onnx"
    assert imported(model)


def test_names_that_are_no_text_are_malformed() -> None:
    content = SMALL.replace(b"Conv", b"Co\xff\xfe")
    with pytest.raises(MalformedModelError, match="expected names of UTF-8"):
        imported(onnx.ModelProto.FromString(content))


def test_a_tensor_whose_data_does_not_fit_its_shape_is_malformed() -> None:
    model = one_node("Add", random(2), random(2), known=(1,))
    model.graph.initializer[0].dims[0] = 3
    words = r"tensor 'x1' has 8 bytes of values; expected 12 for the shape \[3\]"
    with pytest.raises(MalformedModelError, match=words):
        imported(model)


def _with_weight(**fields: Any) -> onnx.ModelProto:
    """Return a model that adds a tensor of these fields."""
    model = one_node("Add", random(2), random(2), known=(1,))
    tensor = model.graph.initializer[0]
    name = tensor.name
    tensor.Clear()
    tensor.MergeFrom(onnx.TensorProto(name=name, **fields))
    return model


FLOAT, INT8, BOOL = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, 9)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dims": [-1], "raw_data": bytes(8)}, r"a negative dimension: its shape .*-1"),
        ({"dims": [-1, 2], "float_data": [1, 2]}, "a negative dimension"),
        ({"dims": [-1, -2], "raw_data": bytes(8)}, "a negative dimension"),
        ({"dims": [0, -1]}, "a negative dimension"),
        ({"dims": [2], "raw_data": bytes(7)}, "has 7 bytes of values; expected 8 for"),
        ({"dims": [2], "float_data": [1, 2, 3]}, "has 3 values; expected 2 for"),
        ({"dims": [2]}, "has 0 values; expected 2 for"),
        ({"dims": [2**62, 4]}, f"has 0 values; expected {2**64} for"),
        ({"dims": [2**32] * 2, "raw_data": b""}, f"bytes of values; expected {2**66}"),
        (
            {"dims": [2], "float_data": [1, 2], "raw_data": bytes(8)},
            "values in float_data and raw_data; expected them in one",
        ),
        (
            {"dims": [2], "int32_data": [1000, 2], "data_type": INT8},
            "has the value 1000, which int8 cannot hold",
        ),
        ({"dims": [3], "raw_data": b"1", "data_type": 22}, "has 1 bytes of values"),
    ],
    ids=str,
)
def test_a_tensor_that_no_array_can_be_is_malformed(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(MalformedModelError, match=f"tensor 'x1' .*{words}"):
        imported(_with_weight(**{"data_type": FLOAT, **fields}))


def test_a_weight_that_nothing_reads_is_looked_at_too() -> None:
    model = one_node("Relu", random(2))
    model.graph.initializer.add(name="w", dims=[-2], data_type=FLOAT)
    with pytest.raises(
        MalformedModelError, match="tensor 'w' has a negative dimension"
    ):
        imported(model)


def test_bools_are_true_or_false_whatever_their_bytes_are() -> None:
    nodes = [helper.make_node("Where", ["w", "x", "y"], ["z"])]
    model = graph_model(nodes, {"x": random(2), "y": random(2)}, ["z"])
    model.graph.initializer.add(name="w", dims=[2], data_type=BOOL, raw_data=b"\2\0")
    mod, _ = from_onnx(model, freeze_params=True)
    constants = [one for one in post_order(mod["main"]) if isinstance(one, Constant)]
    assert constants[0].data.numpy().view("u1").tolist() == [1, 0]


@pytest.mark.parametrize("place", ["input", "output", "value_info"])
def test_shapes_of_values_are_looked_at_wherever_they_stand(place: str) -> None:
    for dims, words in [
        ([-2], "value 'v' has a dimension below -1"),
        ([2**40, -1, 2**40], "value 'v' has more elements than memory"),
    ]:
        model = one_node("Relu", random(2))
        info = helper.make_tensor_value_info("v", FLOAT, dims)
        getattr(model.graph, place).append(info)
        with pytest.raises(MalformedModelError, match=words):
            imported(model)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ((FLOAT, [3]), r"declared as \[3\] of FLOAT"),
        ((INT8, [2]), r"declared as \[2\] of INT8"),
    ],
)
def test_an_input_and_its_initializer_are_of_one_type(
    declared: tuple[int, list[int]], words: str
) -> None:
    model = one_node("Add", random(2), random(2), known=(1,))
    model.graph.input.append(helper.make_tensor_value_info("x1", *declared))
    with pytest.raises(MalformedModelError, match=f"input 'x1' is {words}"):
        imported(model)
    model.graph.input[-1].CopyFrom(helper.make_tensor_value_info("x1", FLOAT, ["n"]))
    assert imported(model)


def test_tensors_outside_of_the_file_are_loaded(tmp_path: Path) -> None:
    model = one_node("Add", random(400), random(400), known=(1,))
    path = tmp_path / "net.onnx"
    outside: dict[str, Any] = {"save_as_external_data": True, "location": "w"}
    onnx.save(model, path, size_threshold=0, **outside)  # pyright: ignore[reportUnknownMemberType]
    assert imported(path)
    (tmp_path / "w").write_bytes(b"short")
    with pytest.raises(MalformedModelError, match="tensor"):
        imported(path)
    (tmp_path / "w").unlink()
    with pytest.raises(FrontendError, match=r"tensor 'x1' in the file '.*w', which"):
        imported(path)


def test_tensors_outside_of_a_model_in_memory_are_refused() -> None:
    model = one_node("Add", random(2), random(2), known=(1,))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w")
    with pytest.raises(FrontendError, match="import the model by its path") as caught:
        imported(model)
    assert not isinstance(caught.value, MalformedModelError)


def test_tensors_outside_of_the_folder_are_not_read(tmp_path: Path) -> None:
    model = one_node("Add", random(2), random(2), known=(1,))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../w")
    (tmp_path / "w").write_bytes(bytes(8))
    path = tmp_path / "inside" / "net.onnx"
    path.parent.mkdir()
    path.write_bytes(model.SerializeToString())
    with pytest.raises(MalformedModelError, match="outside"):
        imported(path)


def test_sparse_initializers_are_refused() -> None:
    model = one_node("Relu", random(2))
    model.graph.sparse_initializer.add()
    with pytest.raises(FrontendError, match="sparse initializers are not supported"):
        imported(model)


def test_a_shape_that_cannot_be_computed_is_refused() -> None:
    nodes = [
        helper.make_node("Tile", ["one", "many"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    words = r"Reshape 'y'.*: its input has no value: .* bytes, and"
    for many, limit in [(10**13, 2**29), (10**3, 0)]:
        known = {"one": np.array([1]), "many": np.array([many])}
        model = graph_model(nodes, {"x": random(2)}, ["y"], known=known)
        with (
            PassContext(config={"relay.FoldConstant.max_bytes": limit}),
            pytest.raises(FrontendError, match=words),
        ):
            imported(model)
