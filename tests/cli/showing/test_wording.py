"""Advice speaks of options of the command, not of Python calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.cli.showing.wording import spoken
from parpass.errors import FunctionTimeoutError, MemoryLimitError, WorkerDiedError

PYTHON = re.compile(
    r"workers=|on_failure=|shape=\{|open_runner|run_pipeline|opset=\b|isolated="
)
# What only a program can do that brings its executor along.
OF_PROGRAMS = "leave out executor="
SOURCES = Path(__file__).parents[3] / "parpass"


def messages() -> Iterator[str]:
    """Yield what the library says to callers who are told what to try."""
    yield str(WorkerDiedError(pass_name="Fold", function="main", cause="EXIT(1)"))
    yield str(FunctionTimeoutError(pass_name="Fold", function="main", limit=5.0))
    yield str(MemoryLimitError(pass_name="Fold", function="main", limit=1))
    for name in (
        "driving/runs.py",
        "driving/stages.py",
        "pool/coordinator.py",
        "report/advice.py",
    ):
        text = (SOURCES / "runner" / name).read_text()
        joined = re.sub(r'"\s*\n\s*f?"', "", text)  # literals over several lines
        for literal in re.findall(r'"([^"\n]{30,})"', joined):
            if PYTHON.search(literal) and OF_PROGRAMS not in literal:
                yield literal


@pytest.mark.parametrize("message", list(messages()))
def test_no_python_is_left_in_advice(message: str):
    assert PYTHON.search(message)
    assert not PYTHON.search(spoken(message))


def test_a_shape_that_a_model_leaves_open_is_asked_for_by_its_option():
    said = "m.onnx: input 'x' has no shape in the model; give one: shape={'x': (...)}"
    assert spoken(said).endswith("give one: --shape x:...")


def test_a_warning_speaks_of_options(tmp_path: Path):
    path = tmp_path / "m.relay"
    path.write_text("def @main(%x: int8) { abs(%x) }")
    arguments = ["opt", str(path), "-p", "InferType", "-j0", "--memory-limit=1G"]
    with pytest.warns(match="memory_limit") as warned:
        assert CliRunner().invoke(main, arguments).exit_code == 0
    assert "run it without -j0" in spoken(str(warned[0].message))
