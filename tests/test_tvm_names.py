"""Each public name of TVM 0.8 is here, or says what to use instead."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import parpass
from parpass.errors.missing_names import reasons

NAMES = Path(__file__).with_name("tvm_names.txt")

WHY = ", which TVM has: "

# Where a module of TVM's is, if not at its own name.
HERE = {
    "tvm.ir.transform": "tvm.transform",
    "tvm.ir.instrument": "tvm.instrument",
    "tvm.error": "tvm.errors",
    "tvm.runtime.ndarray": "tvm.nd",
}


@functools.cache
def names_of_tvm() -> dict[str, list[str]]:
    """Return TVM's names by module."""
    found: dict[str, list[str]] = {}
    for line in NAMES.read_text().splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = []
        elif found:
            [*_, module] = found
            found[module] += line.split()
    return found


def our_module(name: str) -> ModuleType:
    """Return what `name` is under `import parpass as tvm`."""
    module: ModuleType = parpass
    for part in HERE.get(name, name).split(".")[1:]:
        module = getattr(module, part)
    return module


def missing() -> Iterator[tuple[str, str, str]]:
    """Yield our module, the name and the error of each name of TVM's that is out."""
    for module_name, names in names_of_tvm().items():
        module = our_module(module_name)
        for name in names:
            try:
                getattr(module, name)
            except AttributeError as error:
                yield module.__name__, name, str(error)


def test_a_name_of_tvms_is_here_or_says_what_to_use() -> None:
    silent = [
        f"{mod}.{name}" for mod, name, told in missing() if "TVM has:" not in told
    ]
    assert not silent


def test_the_table_has_names_that_are_out_and_no_others() -> None:
    assert {*reasons()} == {(module, name) for module, name, _ in missing()}


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (
            "tvm",
            "lower",
            "no attribute 'lower', which TVM has: parpass.build compiles",
        ),
        ("tvm", "cuda", "the device is parpass.cpu()"),
        ("tvm.relay", "ShapeVar", "use relay.Any"),
        ("tvm.relay.frontend", "from_keras", "convert the model to ONNX"),
        ("tvm.relay.nn", "bitpack", "relay.op.register_op enters yours"),
    ],
)
def test_the_reason_says_what_to_use(module: str, name: str, message: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(our_module(module), name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("module", "slip", "meant"),
    [("tvm.relay.nn", "rellu", "relu"), ("tvm", "IRModul", "IRModule")],
)
def test_a_slip_is_shown_with_the_nearest_name(
    module: str, slip: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{slip}'$") as caught:
        getattr(our_module(module), slip)
    sys.__excepthook__(AttributeError, caught.value, None)
    assert f"Did you mean: '{meant}'?" in capsys.readouterr().err
