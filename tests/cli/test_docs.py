"""The commands in the docs print what the pages show."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from docs.site.blocks import blocks
from tests.support.cli.calling import command
from tests.support.docs.console import console_blocks
from tests.support.onnx.models import graph_model

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["-j0"], id="in one process"),
        pytest.param([], id="as shown", marks=pytest.mark.stress),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "command.md",
        "debugging.md",
        "incremental.md",
        "seeing.md",
        "with-codemods.md",
        "writing-an-adapter.md",
    ],
)
def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, name: str, options: list[str]
):
    page = PAGES / name
    # In a process of its own: here, tests have registered passes that would be listed.
    result = subprocess.run(
        [sys.executable, "-m", "tests.support.docs.console", str(page), *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")
    assert len(console_blocks(page)) > 1


@pytest.mark.slow
def test_the_sequence_of_the_page_works_on_a_model_with_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    weights = np.arange(6, dtype="float32").reshape(2, 3)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = graph_model([node], {"x": weights}, ["y"], known={"w": weights})
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    page = (PAGES / "command.md").read_text(encoding="utf-8")
    block = next(one for one in blocks(page) if one.kind == "sh")
    lines = block.text.splitlines()
    assert len(lines) == 5
    np.save(tmp_path / "image.npy", weights)
    *lines, piped = lines
    for line in lines:
        told = command(*shlex.split(line)[1:])
        assert (told.exit_code, "Error" in told.stderr) == (0, False), told.output
    result = subprocess.run(
        ["sh", "-c", piped.replace("parpass", f"{sys.executable} -m parpass", 1)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )
    assert (result.returncode, "Error" in result.stderr) == (0, False)
    assert "#[metadata]" in (tmp_path / "out.relay").read_text()
