"""Pages of the docs with commands and what they print."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from onnx import helper

from docs.site.blocks import blocks
from parpass.cli import main
from tests.support.onnx.models import graph_model

_CLOCK = re.compile(r"\d+\.\d (ms|%)|\d+\.\d%")
# What a command says where one had to wait, which depends on how busy the machine is.
_SLOW = re.compile(r"^(\.\.\. in [\d.]+ m?s\b|Progress: ).*\n", re.MULTILINE)
_FRAME = re.compile(r"[\s─━┏┓┗┛┳┻╇┡┩┴└┘│┃]+")


def write_small_model(path: Path) -> None:
    """Write the model that the docs' commands are run on."""
    steps = [
        ("Add", ["one", "two"], "k"),
        ("Relu", ["x"], "a"),
        ("Relu", ["x"], "b"),
        ("Mul", ["b", "k"], "m"),
        ("Add", ["a", "m"], "y"),
    ]
    nodes = [helper.make_node(op, given, [made]) for op, given, made in steps]
    constants = {"one": np.array(1, "float32"), "two": np.array(2, "float32")}
    x = {"x": np.zeros((2, 3), "float32")}
    path.write_bytes(graph_model(nodes, x, ["y"], known=constants).SerializeToString())


def write_open_model(path: Path) -> None:
    """Write a model that leaves dimensions open, and may have an input fixed."""
    node = helper.make_node("Mul", ["x", "rate"], ["y"])
    inputs = {"x": np.zeros((2, 3), "float32"), "rate": np.array(1, "float32")}
    model = graph_model([node], inputs, ["y"])
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for dim, name in zip(dims, ("batch", "width"), strict=True):
        dim.dim_param = name
    path.write_bytes(model.SerializeToString())


def console_blocks(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page, each with what the page says that it prints."""
    found: list[tuple[str, str]] = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "console" and (session := block.session()):
            command, output = session
            found.append((command.replace("\\\n", ""), output))
    return found


def write_files(page: Path) -> None:
    """Write the files of a page, each under the name in its first line."""
    for block in blocks(page.read_text(encoding="utf-8")):
        first, _, _ = block.text.partition("\n")
        if block.file:
            with open(
                block.file, "a", encoding="utf-8"
            ) as file:  # it may come in parts
                file.write(block.text)
        elif block.kind == "python" and first.endswith(".py"):
            Path(first.removeprefix("# ")).write_text(block.text, encoding="utf-8")


# Commands that have workers, by default as many as the machine has cores.
_WITH_WORKERS = {"opt", "bisect", "reduce"}


def differences(page: Path, *options: str) -> str:
    """Return a diff of what the page shows and what its commands print, here.

    Args:
        page: The page.
        options: What commands that may have workers are given besides, where the page
            does not say how many.
    """
    write_small_model(Path("small.onnx"))
    write_open_model(Path("open.onnx"))
    write_files(page)
    diffs: list[str] = []
    for command, shown in console_blocks(page):
        arguments = shlex.split(command)[1:]
        if arguments[0] in _WITH_WORKERS and not re.search(r" (-j|--jobs)", command):
            arguments += options
        found = CliRunner().invoke(main, arguments, prog_name="parpass").output
        found = _SLOW.sub("", found)
        if "--timing" in command:
            found, shown = _without_clocks(found), _without_clocks(shown)
        before, after = shown.strip().splitlines(), found.strip().splitlines()
        diffs += difflib.unified_diff(before, after, command, command, lineterm="")
    return "\n".join(diffs)


def _without_clocks(text: str) -> str:
    """Return a text without times, and without the frames that they widen."""
    return _FRAME.sub(" ", _CLOCK.sub("#", text))


if __name__ == "__main__":
    print(differences(Path(sys.argv[1]), *sys.argv[2:]))  # noqa: T201 -- for the test that starts it
