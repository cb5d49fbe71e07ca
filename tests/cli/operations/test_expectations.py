"""`--verify-diagnostics` and `--split-input-file`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.cli.operations.expectations import Expectations
from parpass.diagnostic import Diagnostic, Span
from tests.support.cli import commands

GOOD = "def @main(%x: int8) {\n  abs(%x)\n}\n"
FAILING = commands.FailAlways.pass_info.name
SAYING = commands.SayError.pass_info.name


def opt(text: str, *arguments: str) -> Result:
    """Run the command in one process on standard input."""
    return CliRunner().invoke(main, ["opt", "-j0", "-", *arguments], input=text)


def verified(text: str, *arguments: str) -> Result:
    """Run it with `--verify-diagnostics`."""
    return opt(text, "--verify-diagnostics", *arguments)


def at(line: int, message: str = "a thing", level: str = "error") -> Diagnostic:
    """Return a diagnostic on a line."""
    return getattr(Diagnostic, level)(Span("m", line, line, 1, 2), message)


@pytest.mark.parametrize(
    "text",
    [
        "abs(%y) // expected-error {{no variable named '%y'}}",
        "// expected-error@+1 {{no variable}}\nabs(%y)",
        "abs(%y)\n// expected-error@-1 {{no variable}}",
        "// expected-error @below {{no variable}}\nabs(%y)",
        "abs(%y)\n// expected-error@above {{no variable}}",
        "// expected-error-re@+1 {{no {{[a-z]+}} named {{'%[xy]'}}}}\nabs(%y)",
    ],
)
def test_errors_of_parsing_are_expected_at_places(text: str):
    result = verified(text)
    assert (result.exit_code, result.stderr) == (0, "")


def test_errors_of_types_are_expected():
    text = "def @main(%x: int8) {\n  // expected-error@+1 {{int8}}\n  add(%x, 1f)\n}\n"
    result = verified(text, "-p", "InferType")
    assert (result.exit_code, result.stdout.strip(), result.stderr) == (0, "", "")


def test_what_a_pass_says_without_a_place_is_expected_of_it():
    text = f"// expected-error@unknown {{{{a bad program}}}}\n{GOOD}"
    assert verified(text, "-p", SAYING).exit_code == 0
    text = f"// expected-error@unknown {{{{ValueError: it cannot be}}}}\n{GOOD}"
    assert verified(text, "-p", FAILING).exit_code == 0


def test_what_is_not_expected_is_told_with_its_place():
    result = verified(f"abs(%y)\n// -----\n{GOOD}")
    assert (result.exit_code, result.stdout) == (1, GOOD)
    assert "error: unexpected error: no variable named '%y'" in result.stderr
    assert "--> <stdin>:1:5" in result.stderr


def test_what_is_expected_and_does_not_come_is_told():
    result = verified(f"// expected-warning@+2 {{{{odd}}}}\n{GOOD}")
    assert (result.exit_code, result.stdout) == (1, GOOD)
    assert 'error: expected warning "odd" was not reported' in result.stderr
    assert "--> <stdin>:1:4" in result.stderr


def test_severity_line_and_message_count_and_each_comment_counts_once():
    expected = Expectations("// expected-note {{a thing}}\n", "m")
    expected.take([at(1), at(2, level="note"), at(1, "else", "note")])
    assert len(expected.unmet()) == 4
    twice = Expectations("// expected-error {{thing}}\n", "m")
    twice.take([at(1), at(1)])
    assert len(twice.unmet()) == 1


def test_several_comments_may_stand_on_a_line():
    text = "// expected-error {{one}} // expected-note {{two}}\n"
    expected = Expectations(text, "m")
    expected.take([at(1, "one"), at(1, "two", "note")])
    assert expected.unmet() == []


def test_each_program_is_verified_for_itself():
    bad = "abs(%y) // expected-error {{no variable}}\n"
    result = verified(f"{bad}// -----\n{GOOD}// -----\n{bad}", "-p", "InferType")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("def @main") == 1


def test_only_text_is_verified(tmp_path: Path):
    path = commands.write_model(tmp_path / "m.onnx", "Relu")
    result = CliRunner().invoke(main, ["opt", str(path), "--verify-diagnostics"])
    assert result.exit_code == 2
    assert result.stderr == "Error: expected IR as text, got ONNX\n"


def test_programs_apart_fail_apart(tmp_path: Path):
    text = f"abs(%y)\n// -----\n{GOOD}"
    alone = opt(text, "--split-input-file")
    assert (alone.exit_code, alone.stdout) == (2, GOOD)
    assert "<stdin>:1:5" in alone.stderr
    failed = opt(text, "--split-input-file", "-p", FAILING)
    assert (failed.exit_code, failed.stdout.strip()) == (1, "")
    assert "it cannot be" in failed.stderr
    out = tmp_path / "out.relay"
    assert opt(text, "--split-input-file", "-o", str(out)).exit_code == 2
    assert not out.exists()


def test_another_line_may_part_programs():
    text = f"{GOOD}// next\n{GOOD}"
    result = opt(text, "--split-input-file=// next")
    assert (result.exit_code, result.stdout) == (0, text)
