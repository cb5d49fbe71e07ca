"""The names of a first day, and what importing them costs."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import parpass

ROOT = Path(__file__).parents[1]


def test_names_are_sorted_and_all_there():
    assert parpass.__all__ == sorted(parpass.__all__)
    for name in parpass.__all__:
        assert getattr(parpass, name) is not None
    assert set(parpass.__all__) <= set(dir(parpass))


def test_other_names_are_refused():
    with pytest.raises(
        AttributeError, match="module 'parpass' has no attribute 'nope'"
    ):
        _ = parpass.nope  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize(
    "use", ["from parpass import open_runner_sync", "parpass.open_runner_sync"]
)
def test_who_guesses_open_runner_sync_is_told_that_open_runner_is_for_both(use: str):
    with pytest.raises(
        ImportError, match=r"with open_runner\(\) as runner: runner\.run_sync"
    ):
        exec(use, {"parpass": parpass})
    assert "open_runner_sync" not in dir(parpass)


# Those whose names load when they are first asked for.
PACKAGES = [
    *("parpass", "parpass.ir", "parpass.relay", "parpass.relay.frontend"),
    *("parpass.relay.transform", "parpass.runner", "parpass.runtime"),
    *("parpass.spi", "parpass.tir", "parpass.tir.transform"),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_names_that_load_late_are_shown_and_there_and_others_refused(package: str):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in dir(module):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'InferTipe'") as refused:
        _ = module.InferTipe
    assert (refused.value.name, refused.value.obj) == ("InferTipe", module)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "unwanted"),
    [
        ("parpass", "click loky msgspec numpy onnx rich trio parpass.transform"),
        (
            "parpass.transform, parpass.instrument",
            "numpy onnx trio loky rich click importlib.metadata",
        ),
        ("parpass.spi", "msgspec numpy trio loky parpass.transform parpass.runner"),
        ("parpass.relay", "onnx trio loky rich click"),
        (
            "parpass.runner.worker.jobs",
            "onnx trio loky rich click importlib.metadata parpass.integrations",
        ),
        ("parpass.cli", "numpy onnx trio loky rich parpass.relay"),
    ],
)
def test_importing_a_room_leaves_what_it_may_not_need(names: str, unwanted: str):
    program = f"import {names}, sys; print(*sys.modules)"
    output = subprocess.check_output(
        [sys.executable, "-c", program], text=True, cwd=ROOT, timeout=200
    )
    assert not set(unwanted.split()) & set(output.split())
