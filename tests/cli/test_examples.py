"""Each subcommand's help has examples, and they work as they stand there."""

from __future__ import annotations

import inspect
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper

from parpass.cli import main
from parpass.cli.group import SHIPPED
from tests.support.onnx.models import graph_model
from tests.support.relay.reproducing import write_reproducer

pytestmark = pytest.mark.slow

# What examples exit with that are about something that is different or fails, and
# about nothing that is wrong.
EXIT_CODES = {"bisect": 3, "compare": 1, "diff": 1, "replay": 1}
TEXT = "def @main(%x: Tensor[(2, 2), float32]) {\n  add(%x, add(1f, 1f))\n}\n"
MLIR = "func.func @f(%x : i32) -> i32 {\n  func.return %x : i32\n}\n"


def examples(name: str) -> list[str]:
    """Return the commands of a subcommand's examples, until one installs something."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    _, _, lines = inspect.cleandoc(command.help or "").partition("\b\nExample:\n")
    lines = lines.partition("pip install")[0]
    commands = [one.strip() for one in lines.replace(" && ", "\n").splitlines()]
    return [one for one in commands if one.startswith("parpass ")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that examples name, the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path / "cache"))
    image = np.ones((2, 3), "float32")
    steps = [("Relu", "x", "a"), ("Exp", "a", "b")]
    nodes = [
        helper.make_node(op, [given], [made], name=f"conv{at}")
        for at, (op, given, made) in enumerate(steps)
    ]
    model = graph_model(nodes, {"x": image}, ["b"]).SerializeToString()
    for name in ("model", "resnet50", "squeezenet", "vgg19"):
        (tmp_path / f"{name}.onnx").write_bytes(model)
    for name in ("image", "photo"):
        np.save(f"{name}.npy", image)
    for name in ("small", "before", "after"):
        (tmp_path / f"{name}.relay").write_text(TEXT)
    (tmp_path / "program.mlir").write_text(MLIR)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/one.py").write_text('print("{} of {}".format(1, 2))\n')
    return tmp_path


def prepare(name: str, folder: Path) -> None:
    """Make what examples take that others make, or a failing run."""
    if name in ("reduce", "replay"):
        pipeline = "FailOnExp{message='out of range'}"
        write_reproducer(folder / "failure.txt", pipeline)
    elif name == "run":
        assert run(examples("build")[0]) == 0
    elif name == "compare":
        assert run(examples("compare")[0].replace("before", "after")) == 0


def run(line: str) -> int:
    """Run a line, whose commands may be joined by pipes; return its exit code."""
    given, code = "", 0
    for words in map(shlex.split, line.split(" | ")):
        assert words[0] == "parpass"
        found = CliRunner().invoke(main, words[1:], input=given, prog_name="parpass")
        assert isinstance(found.exception, SystemExit | None), found.output
        given, code = found.stdout, found.exit_code
        assert code != 2, found.output
    return code


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_examples_of_a_subcommand_work(name: str, folder: Path) -> None:
    lines = examples(name)
    assert any(line.startswith(f"parpass {name} ") for line in lines)
    prepare(name, folder)
    for line in lines:
        own = line.rpartition("parpass ")[2].split()[0]
        assert run(line) in (0, EXIT_CODES.get(own)), line
