"""`parpass diff`: whether two programs are equal, or where they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.transform import register_adapter
from tests.support.cli.commands import write_model
from tests.support.registering import registering_for_a_while
from tests.support.toy.parented_ir import Adapter, Fn, Mod

PROGRAM = """\
def @main(%x: int8) { add(%x, @leaf(%x)) }
def @leaf(%x: int8) -> int8 { negative(%x) }
"""


@pytest.fixture
def left(tmp_path: Path) -> Path:
    path = tmp_path / "left.relay"
    path.write_text(PROGRAM)
    return path


def diff(left: Path | str, right: str, *options: str) -> Result:
    """Compare a file with a text."""
    arguments = ["diff", str(left), "-", *options]
    return CliRunner().invoke(main, arguments, input=right)


def test_names_of_variables_and_layout_are_no_difference(left: Path):
    result = diff(left, PROGRAM.replace("%x", "%other").replace("{", "{\n"))
    assert (result.exit_code, result.output) == (0, "equal: 2 functions\n")


def test_the_first_difference_of_each_function_is_shown(left: Path):
    other = PROGRAM.replace("negative", "abs").replace("add(", "subtract(")
    result = diff(left, other)
    assert (result.exit_code, result.stderr) == (1, "")
    assert "function 'main': not structurally equal: <root>.body.op" in result.stdout
    assert "function 'leaf': not structurally equal: <root>.body.op" in result.stdout


def test_a_diff_of_each_function_has_the_names_of_the_first(left: Path):
    other = PROGRAM.replace("%x", "%y").replace("negative(%y)", "abs(negative(%y))")
    result = diff(left, other)
    assert result.stdout.endswith(
        " def @leaf(%x: int8) -> int8 {\n"
        "-  negative(%x)\n"
        "+  %0 = negative(%x);\n"
        "+  abs(%0)\n"
        " }\n"
    )
    assert "function 'main'" not in result.stdout


def test_functions_that_only_one_has_are_named(left: Path):
    result = diff(left, PROGRAM.replace("@leaf", "@twig"))
    assert result.exit_code == 1
    assert f"function 'leaf' is only in {left}\n" in result.stdout
    assert "function 'twig' is only in -\n" in result.stdout


def test_quietly_only_the_exit_code_tells(left: Path):
    result = diff(left, "1f", "--quiet")
    assert (result.exit_code, result.output) == (1, "")


def test_formats_do_not_matter(tmp_path: Path):
    model = write_model(tmp_path / "relu.onnx", "Relu")
    paths = [str(tmp_path / name) for name in ("m.relay", "m.json")]
    for path in paths:
        assert CliRunner().invoke(main, ["opt", str(model), "-o", path]).exit_code == 0
    for one, other in ((str(model), paths[0]), paths):
        result = CliRunner().invoke(main, ["diff", one, other])
        assert (result.exit_code, result.output) == (0, "equal: 1 function\n")


def test_several_programs_are_an_input_error(left: Path):
    result = diff(left, f"{PROGRAM}// -----\n{PROGRAM}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: expected one program, got 2 in '-'\n"


def test_attributes_of_the_module_are_compared(left: Path):
    result = diff(left, f'#[attrs(target="llvm")]\n{PROGRAM}')
    assert result.exit_code == 1
    assert "attrs" in result.stdout


def test_attributes_of_the_module_are_compared_if_functions_differ(left: Path):
    other = PROGRAM.replace("negative", "abs")
    result = diff(left, f'#[attrs(target="llvm")]\n{other}')
    assert "function 'leaf'" in result.stdout
    assert "not structurally equal: <root>.attrs\n" in result.stdout


class Readable(Adapter):
    """Reads lines of a name and operations; functions have no `__eq__`."""

    ir_name = "parented"

    def parse(self, text: str, source_name: str) -> Mod:
        lines = map(str.split, text.splitlines())
        return Mod({name: Fn(name, *ops) for name, *ops in lines})

    def astext(self, mod: Mod, *, show_meta_data: bool = True) -> str:
        return "\n".join(mod.texts())


def test_functions_without_an_eq_are_compared_by_their_content(tmp_path: Path):
    path = tmp_path / "one.txt"
    path.write_text("a add\nb mul nop")
    with registering_for_a_while():
        register_adapter(Mod, Readable())
        for text in ("a add\nb mul nop", "b mul nop\na add"):
            result = diff(path, text, "--ir", "parented")
            assert (result.exit_code, result.output) == (0, "equal: 2 functions\n")
        result = diff(path, "a add\nb nop nop", "--ir", "parented")
    assert result.exit_code == 1
    told = "function 'b': 'mul' and 'nop' at Fn.ops[0].name\n@@"
    assert result.stdout.startswith(told)
