"""How options may be spelled, and how they are shown."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.cli.commands.codemod import codemod
from parpass.cli.commands.opt import opt
from parpass.cli.options.syntax import Command
from parpass.cli.options.written import ALIASES
from parpass.object_table import file_of


def parsed(*arguments: str) -> dict[str, object]:
    """Return the parameters of `parpass opt` on a file that is there."""
    above = click.Context(main, **main.context_settings)
    return opt.make_context("opt", [__file__, *arguments], parent=above).params


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_the_names_that_mlir_opt_has_mean_the_same(alias: str):
    value = ["dump"] if ALIASES[alias] == "--dump-ir" else []
    assert parsed(alias, *value) == parsed(ALIASES[alias], *value)
    assert parsed(alias, *value) != parsed()


@pytest.mark.parametrize("dashes", ["-", "--"])
def test_one_dash_before_a_long_name_will_do(dashes: str):
    assert parsed(f"{dashes}pass-pipeline=A,B")["passes"] == "A,B"
    assert parsed(f"{dashes}mlir-timing") == parsed("--timing")
    assert parsed(f"{dashes}verify-diagnostics")["verify_diagnostics"] is True
    assert parsed(f"{dashes}split-input-file")["split_input_file"] == ""
    assert parsed(f"{dashes}mlir-output-format=json")["timing"] == ("json",)


def test_short_options_are_still_joined_to_their_values():
    assert parsed("-pInferType,A")["passes"] == "InferType,A"
    assert parsed("-oout")["output"] == "out"


@pytest.mark.parametrize("option", ["--fold-constant", "--FoldConstant"])
def test_a_pass_as_an_option_is_told_where_passes_go(option: str):
    result = CliRunner().invoke(main, ["opt", __file__, option])
    assert result.exit_code == 2
    assert f"no such option: {option}; passes go to -p FoldConstant" in result.stderr
    other = CliRunner().invoke(main, ["opt", __file__, "--fold-constnt"])
    assert "No such option" in other.stderr


def test_aliases_take_values():
    assert parsed("--mlir-print-ir-after=A,B")["print_ir_after"] == ("A,B",)


def test_a_value_may_be_left_out_and_is_never_the_next_argument():
    assert parsed("--print-ir-after", __file__)["print_ir_after"] == ("",)
    assert len(parsed("--print-ir-after", __file__)["inputs"]) == 2  # pyright: ignore[reportArgumentType] -- a tuple
    both = parsed("--print-ir-before=A", "--print-ir-before")
    assert both["print_ir_before"] == ("A", "")


def test_a_cache_takes_the_next_argument_if_that_is_no_input(tmp_path: Path):
    used, empty, full = (tmp_path / name for name in ("used", "empty", "full"))
    for folder in (used, empty, full):
        folder.mkdir()
    (full / "a.py").touch()
    file_of(used).touch()
    for folder in (used, empty, tmp_path / "new", Path(".c")):
        assert parsed("--cache", str(folder)) == parsed(f"--cache={folder}")
        assert parsed("--cache", str(folder))["cache"] == str(folder)
    for other in (__file__, "-j2"):
        assert parsed("--cache", other)["cache"] == ""
    assert parsed("--cache")["cache"] == ""
    above = click.Context(main, **main.context_settings)
    given = ["x", "--cache", str(full)]
    made = codemod.make_context("codemod", given, parent=above).params
    assert (made["cache"], made["paths"]) == ("", (str(full),))


def test_after_two_dashes_nothing_is_an_option():
    result = CliRunner().invoke(main, ["opt", "--", "--mlir-timing"])
    assert "'--mlir-timing' does not exist" in result.stderr


def test_help_has_sections():
    assert isinstance(opt, Command)
    text = CliRunner().invoke(main, ["opt", "--help"]).stdout
    headings = [
        line
        for line in text.splitlines()
        if line.endswith(":") and not line.startswith(" ")
    ]
    assert headings == [
        "Input and execution:",
        "Output:",
        "Shown on standard error:",
        "Listings:",
        "Other:",
    ]
    assert "  --print-ir-before[=PASSES] " in text
    assert "--mlir" not in text
    assert "-h, --help " in text


def test_help_shows_no_ranges_beside_what_it_says():
    text = CliRunner().invoke(main, ["opt", "--help"]).stdout
    assert "[default: 2]" in text
    assert "x>" not in text
