"""Damaged files of real networks are imported, or refused with a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.real_networks import network_paths
from parpass.errors import FrontendError
from tests.support.onnx.models import imported
from tests.support.profiles import examples

SMALL = ("zfnet512", "bvlc_alexnet", "vgg19")
FILES = {name: path for name, path in network_paths().items() if name in SMALL}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("onnx") / "damaged.onnx"


def is_imported(path: Path) -> bool:
    """Return whether a file becomes a module; only a FrontendError says that not."""
    try:
        return len(imported(path)) == 1
    except FrontendError:
        return False


def refusal(path: Path) -> str:
    with pytest.raises(FrontendError) as caught:
        imported(path)
    return str(caught.value)


@st.composite
def damage(draw: st.DrawFn) -> bytes:
    """A real file with a few stretches cut out, doubled or overwritten."""
    content = bytearray(FILES[draw(st.sampled_from(sorted(FILES)))].read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        stretch = slice(at, at + draw(st.integers(1, 40)))
        kind = draw(st.sampled_from(["cut", "double", "overwrite", "truncate"]))
        if kind == "cut":
            del content[stretch]
        elif kind == "double":
            content[at:at] = content[stretch]
        elif kind == "overwrite":
            fresh = draw(st.binary(min_size=1, max_size=8))
            content[at : at + len(fresh)] = fresh
        else:
            del content[at:]
    return bytes(content)


@pytest.mark.slow
@given(damage())
@examples(10)
def test_a_damaged_file_is_a_module_or_an_error_that_names_the_file(
    damaged: Path, content: bytes
) -> None:
    damaged.write_bytes(content)
    assert is_imported(damaged) or "damaged.onnx" in refusal(damaged)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_module_or_an_error(damaged: Path, content: bytes) -> None:
    damaged.write_bytes(content)
    assert is_imported(damaged) or "damaged.onnx" in refusal(damaged)
