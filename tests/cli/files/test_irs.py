"""`--load`: what cannot be loaded is told without a traceback.

IRs of adapters, as the command reads them; a session with one is in the docs.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.transform import register_adapter, register_programs
from parpass.transform.debug.reproducer import Reproducer
from tests.support.registering import registering_for_a_while
from tests.support.toy.ir import Fn, Program, ToyAdapter


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax"),
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero\n  at {path}:2\n"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3\n  at {path}:2\n"),
        (
            "from parpass import PassInfo\nclass A:\n    info = PassInfo('A', 1)\n",
            "got 'A'; write PassInfo(1, 'A')\n  at {path}:3\n",
        ),
        (
            "from parpass import function_pass\n\n@function_pass\ndef a(f, m, c): f\n",
            "write @function_pass(opt_level=...)\n  at {path}:3\n",
        ),
        ("import nowhere_at_all\n", "No module named 'nowhere_at_all'"),
    ],
)
def test_a_broken_file_is_an_input_error(tmp_path: Path, content: str, message: str):
    path = tmp_path / "broken.py"
    path.write_text(content)
    result = CliRunner().invoke(main, ["opt", str(path), "--load", str(path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: '{path}' cannot be loaded: ")
    assert message.format(path=path) in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_not_there_is_an_input_error():
    result = CliRunner().invoke(main, ["opt", __file__, "--load", "none.py"])
    assert result.exit_code == 2
    assert "there is no file" in result.stderr


class ReadableToy(ToyAdapter):
    """Reads lines of a name and numbers."""

    ir_name = "toy"
    suffixes = (".toy",)

    def parse(self, text: str, source_name: str) -> Program:
        lines = [line.split() for line in text.splitlines() if line.strip()]
        return Program({name: Fn(tuple(map(int, rest))) for name, *rest in lines})

    def astext(self, mod: Program, *, show_meta_data: bool = True) -> str:
        lines = ([name, *map(str, f.values)] for name, f in mod.functions.items())
        return "\n".join(map(" ".join, lines))


class MuteToy(ToyAdapter):
    """Has a name, and reads nothing."""

    ir_name = "mute"
    suffixes = (".mute",)


@pytest.fixture(autouse=True)
def _registered() -> Generator[None]:
    with registering_for_a_while():
        register_programs(MuteToy())
        register_adapter(Program, ReadableToy())
        yield


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "one.toy"
    path.write_text("f 1 2\ng 3\n")
    return path


def command(*arguments: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_programs_are_known_by_their_suffix(program: Path, tmp_path: Path):
    assert command("opt", program).stdout == "f 1 2\ng 3\n"
    out = tmp_path / "out.toy"
    assert command("opt", program, "-o", out).output == ""
    assert command("diff", program, out).stdout == "equal: 2 functions\n"
    out.write_text("f 1 2\ng 4\n")
    assert command("diff", program, out).exit_code == 1


def test_or_by_the_name_of_their_ir(program: Path, tmp_path: Path):
    path = program.rename(tmp_path / "one.txt")
    assert command("opt", path).exit_code == 2
    assert command("opt", path, "--ir", "toy").stdout == "f 1 2\ng 3\n"


def test_programs_are_parted_by_lines(program: Path):
    program.write_text("f 1\n// -----\ng 2\n")
    assert command("opt", program).stdout == "f 1\n// -----\ng 2\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "complaint"),
    [
        ("one.toy", "f x", [], "one.toy' cannot be read: ValueError: invalid literal"),
        ("one.mute", "f", [], "MuteToy has no method 'parse(text, source_name)'"),
        ("one.toy", "f", ["--ir", "to"], "no IR named 'to'; did you mean 'toy'?"),
        ("one.toy", "f", ["--ir", "to", "-p", "of-to"], "no IR named 'to'"),
        (
            "one.toy",
            "f",
            ["--ir", "c"],
            "toy. An adapter names its IR",
        ),
        ("one.toy", "f 1", ["-o", "out.json"], "Relay module as JSON, got another IR"),
    ],
)
def test_what_cannot_be_read_is_told(
    name: str, content: str, options: list[str], complaint: str, tmp_path: Path
):
    path = tmp_path / name
    path.write_text(content)
    result = command("opt", path, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in " ".join(result.stderr.split())


def test_a_reproducer_of_an_ir_without_a_name_says_what_is_missing(tmp_path: Path):
    path = tmp_path / "failure.txt"
    failure = Reproducer(error="E: e", pass_name="P", function="f", pipeline="P")
    path.write_text(failure.to_text())
    for name in ("replay", "reduce", "opt"):
        result = command(name, path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "its IR has no name" in result.stderr
        assert "'ir_name' and 'parse'" in result.stderr


def test_only_relay_and_loops_are_evaluated(program: Path):
    result = command("run", program)
    assert result.exit_code == 2
    assert (
        "expected a program of Relay or tir to evaluate, got another" in result.stderr
    )


def test_values_of_other_irs_are_not_compared(program: Path):
    result = command("bisect", program, "-p", "PrintIR", "-j0")
    assert result.exit_code == 2
    assert "only Relay is evaluated here, and this is a Program; add --check" in (
        result.stderr
    )
