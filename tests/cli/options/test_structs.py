"""The options of a subcommand are the fields of a struct."""

from __future__ import annotations

import dataclasses

import click
import pytest
from click.testing import CliRunner

from parpass.cli.options.structs import (
    argument,
    command,
    group,
    option_struct,
    running,
    showing,
)


@option_struct
class _Inner:
    depth: int = running("--depth", type=int, default=3)


@option_struct
class _Outer:
    name: str = argument()
    inner: _Inner = group(_Inner)
    is_loud: bool = showing("-l", "--loud", is_flag=True)


@command(_Outer, epilog="Exit codes: 0 ok.")
def tell(given: _Outer) -> None:
    """Tell what is given."""
    click.echo(repr(dataclasses.astuple(given)))


def test_a_command_gets_its_options_as_one_struct():
    result = CliRunner().invoke(tell, ["x", "--depth", "7", "-l"])
    assert result.output == "('x', (7,), True)\n"


def test_what_is_not_given_has_the_default_that_the_option_declares():
    assert CliRunner().invoke(tell, ["x"]).output == "('x', (3,), False)\n"


def test_the_help_text_has_the_docstring_and_a_section_for_each_kind():
    text = CliRunner().invoke(tell, ["--help"]).output
    assert "Tell what is given." in text
    assert text.index("Input and execution:") < text.index("Shown on standard error:")
    assert "Exit codes: 0 ok." in text


def test_a_struct_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        _Inner(depth=1).depth = 2  # pyright: ignore[reportAttributeAccessIssue]


def test_a_value_for_a_field_that_is_none_is_refused():
    with pytest.raises(TypeError, match="width"):
        _Inner(depth=1, width=2)  # pyright: ignore[reportCallIssue]
