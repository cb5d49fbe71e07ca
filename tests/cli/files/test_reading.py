"""`parpass opt` on IR as text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from tests.support.cli.commands import write_model

ABS = "def @main(%x: int8) {\n  abs(%x)\n}\n"
SIGN = "def @main(%x: int8) {\n  sign(%x)\n}\n"


def opt(*arguments: str | Path, stdin: str | None = None) -> Result:
    """Run the command in one process."""
    return CliRunner().invoke(main, ["opt", "-j0", *map(str, arguments)], input=stdin)


def test_text_is_read_and_run(tmp_path: Path):
    path = tmp_path / "model.relay"
    path.write_text(ABS)
    assert opt(path).stdout == ABS
    typed = ABS.replace(") {", ") -> int8 {")
    assert opt(path, "-p", "InferType").stdout == typed


def test_a_dash_is_text_on_standard_input():
    result = opt("-", stdin=ABS)
    assert (result.exit_code, result.stdout, result.stderr) == (0, ABS, "")


def test_programs_are_parted_by_lines_and_run_one_by_one():
    text = f"{ABS}// -----\n{SIGN}"
    assert opt("-", stdin=text).stdout == text
    typed = text.replace(") {", ") -> int8 {")
    assert opt("-", "-p", "InferType", stdin=text).stdout == typed


def test_several_texts_are_programs_of_their_own(tmp_path: Path):
    paths = tmp_path / "a.relay", tmp_path / "b.relay"
    for path, text in zip(paths, (ABS, SIGN), strict=True):
        path.write_text(text)
    assert opt(*paths).stdout == f"{ABS}// -----\n{SIGN}"


def test_what_is_written_with_its_constants_can_be_read_again(tmp_path: Path):
    text = (
        "1\n#[metadata]\n"
        '{"relay.Constant": [\n{"dtype": "int8", "shape": [1], "data": "AA=="}\n]}\n'
    )
    path = tmp_path / "model.relay"
    path.write_text(text.replace("1\n", "meta[relay.Constant][0]\n", 1))
    written = opt(path, "--print-metadata").stdout
    assert '"AA=="' in written
    assert opt("-", "--print-metadata", stdin=written).stdout == written


def test_errors_have_their_places_in_the_whole_text_and_all_are_shown():
    bad = "abs(%x)\n"
    result = opt("-", stdin=f"{bad}// -----\n{ABS}// -----\n\n{bad}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "<stdin>:1:5" in result.stderr
    assert "<stdin>:8:5" in result.stderr
    assert "8 | abs(%x)" in result.stderr


def test_onnx_and_text_are_not_read_together(tmp_path: Path):
    model = write_model(tmp_path / "relu.onnx", "Relu")
    result = opt(model, "-", stdin=ABS)
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: ONNX files and IR as text cannot be read together\n"
    )


def test_a_file_that_is_neither_onnx_nor_text_is_an_input_error(tmp_path: Path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"\xff\xfe\x00")
    result = opt(path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{path}: expected an ONNX model" in result.stderr
    path.write_bytes(b"caf\xe9")
    assert opt(path).stderr == f"Error: '{path}' is neither an .onnx file nor text\n"


@pytest.mark.parametrize("stdin", ["", " \n"])
def test_an_empty_standard_input_is_an_input_error(stdin: str):
    result = opt("-", stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected a program on standard input, got nothing" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_json_cannot_have_a_name_that_is_no_text_and_says_so(tmp_path: Path):
    path, out = tmp_path / "a\udcff.relay", tmp_path / "out.json"
    path.write_text(ABS)
    result = opt(path, "-o", out)
    assert (result.exit_code, out.exists()) == (2, False)
    assert "the program cannot be written as JSON: " in result.stderr
