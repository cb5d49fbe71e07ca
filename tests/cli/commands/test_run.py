"""`parpass run`: the values of a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from tests.support.cli.commands import write_model, write_open_model

PROGRAM = """\
def @main(%x: Tensor[(2, 2), float32], %y: float32) {
  (add(%x, %y), @double(%x))
}
def @double(%x: Tensor[(2, 2), float32]) { multiply(%x, 2f) }
def @open(%x: Tensor[(?, 2), float32]) { nn.relu(%x) }
def @closure(%x: int8) { fn (%y: int8) { add(%x, %y) } }
"""
X = "x=[[1, -2], [3, 4]]"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    return path


def run(path: Path | str, *arguments: str | Path, stdin: Any = None) -> Result:
    """Run the command in this process."""
    words = ["run", str(path), *map(str, arguments)]
    return CliRunner().invoke(main, words, input=stdin)


def test_values_are_printed_with_their_types(program: Path):
    result = run(program, "--input", X, "--input", "y=1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "output_0: float32 (2, 2)\n[[ 2. -1.]\n [ 4.  5.]]\n"
        "output_1: float32 (2, 2)\n[[ 2. -4.]\n [ 6.  8.]]\n"
    )


def test_values_come_from_files_and_go_to_files(program: Path, tmp_path: Path):
    x = np.arange(4, dtype="float32").reshape(2, 2)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "all.npz", x=x, y=np.float32(3))
    out = tmp_path / "out.npz"
    assert run(program, "--inputs", tmp_path / "all.npz", "-o", out).output == ""
    made = dict(np.load(out))
    assert (made["output_0"] == x + 3).all()
    assert (made["output_1"] == x * 2).all()
    given = f"x={tmp_path / 'x.npy'}"
    out = tmp_path / "out.npy"
    result = run(program, "--function", "double", "--input", given, "-o", out)
    assert (result.exit_code, result.output) == (0, "")
    assert (np.load(out) == x * 2).all()


def test_what_is_not_given_is_random_and_the_same_each_time(program: Path):
    first, second = run(program), run(program)
    assert first.exit_code == 0
    assert first.stdout == second.stdout
    assert run(program, "--seed", "1").stdout != first.stdout
    only_y = run(program, "--input", "y=0").stdout
    assert only_y.partition("output_1")[2] == first.stdout.partition("output_1")[2]


def test_shapes_that_are_open_can_be_given(program: Path):
    result = run(program, "--function", "open")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: expected known shapes for random values, got open ones: 'x' of "
        "Tensor[(?, 2), float32]; set values by --input, or shapes by --shape, such "
        "as --shape x:1,2\n"
    )
    result = run(program, "--function", "open", "--shape", "x:3,2")
    assert "output_0: float32 (3, 2)" in result.stdout


def test_a_model_is_run_and_may_come_on_standard_input(tmp_path: Path):
    path = write_model(tmp_path / "relu.onnx", "Relu")
    given = ["--input", "x=[[1, -1, 0], [0, 2, 0]]"]
    result = run(path, *given)
    assert "[[1. 0. 0.]\n [0. 2. 0.]]" in result.stdout
    assert run("-", *given, stdin=path.read_bytes()).stdout == result.stdout


def test_values_tell_the_open_shapes_of_a_model(tmp_path: Path):
    path = write_open_model(tmp_path / "open.onnx")
    ones = np.ones((2, 3), "float32")
    np.savez(tmp_path / "in.npz", x=ones, y=ones)
    given = ("--inputs", tmp_path / "in.npz", "--const", "rate=16000")
    assert run(path, *given).stdout == "output_0: float32 (1, 1)\n[[12.]]\n"
    rows = ("--input=x=[[1, 2, 3]]", "--input=y=[[1, 1, 1]]", "--const=rate=1")
    assert run(path, *rows).stdout == "output_0: float32 ()\n4.0\n"
    result = run(path, "--input=x=[[1, 2, 3]]", "--const=rate=1")
    assert result.exit_code == 2
    assert "open are 'y' of (batch, 3); set lengths by --dim, or" in result.stderr
    result = run(path, "--input=x=[1]", "--dim=batch=1", "--const=rate=1")
    assert result.exit_code == 2
    assert "'x' is Tensor[(1, ?), float32], but the value for it has" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--input", "q=1"], 2, "no parameter 'q'; there are x, y"),
        (["--input", "x"], 2, "expected NAME=VALUE, got 'x'"),
        (["--input", "x=[1"], 2, "numbers as JSON, for 'x'"),
        (
            ["--input", "x=[[1, 2], [3]]"],
            2,
            "rows of one length, for 'x', got [[1, 2],",
        ),
        (["--input", 'x=["a", "b"]'], 2, "expected numbers for 'x', got ['a', 'b']"),
        (["--input", "x=null"], 2, "expected numbers for 'x', got None"),
        (["--input", "x=none.npy"], 2, "cannot read 'none.npy': No such file"),
        (["--input", "x=1"], 1, "'main' has no value: expected Tensor[(2, 2)"),
        (["--inputs", __file__], 2, "expected an .npz file"),
        (["--function", "doubl"], 2, "no function 'doubl'; did you mean 'double'"),
        (["--function", "closure"], 1, "expected arrays to come out, got Closure"),
        (["-o", "out.npy"], 2, "ends in .npz for 2 arrays, got 'out.npy'"),
        (["-o", "out.txt"], 2, "ends in .npy or .npz"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(
    program: Path, arguments: list[str], code: int, complaint: str
):
    result = run(program, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert complaint in " ".join(result.stderr.split())


def test_pickles_are_not_loaded(program: Path, tmp_path: Path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    result = run(program, "--input", f"x={path}")
    assert result.exit_code == 2
    assert "allow_pickle" in result.stderr
