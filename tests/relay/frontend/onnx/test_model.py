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
from parpass.transform import PassContext
from tests.support.onnx_models import graph_model, imported, one_node, random

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
    with pytest.raises(MalformedModelError, match="give it as opset="):
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
    with pytest.raises(MalformedModelError, match="tensor 'x1' cannot be read"):
        imported(model)


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
    words = r"Reshape 'y'.*: what it is given has no value: .* bytes, and"
    for many, limit in [(10**13, 2**29), (10**3, 0)]:
        known = {"one": np.array([1]), "many": np.array([many])}
        model = graph_model(nodes, {"x": random(2)}, ["y"], known=known)
        with (
            PassContext(config={"relay.FoldConstant.max_bytes": limit}),
            pytest.raises(FrontendError, match=words),
        ):
            imported(model)
