"""`parpass opt --list-passes`, `--help-pass` and `--list-configs`."""

import importlib

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.cli.options.listing import PassOrigin, help_pass
from parpass.transform import registered_passes

importlib.import_module("tests.support.toy.passes")  # registers passes with options


def opt(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["opt", *arguments])


def entries(result: Result) -> list[str]:
    assert (result.exit_code, result.stderr) == (0, "")
    return [line.split()[0] for line in result.stdout.splitlines() if line[0] != " "]


def test_the_passes_are_listed_with_what_they_are_for_by_whose_they_are():
    result = opt("--list-passes")
    assert (result.exit_code, result.stderr) == (0, "")
    groups: dict[str, list[str]] = {}
    for part in result.stdout.split("\n\n"):
        heading, *rows = part.splitlines()
        groups[heading] = [row.split()[0] for row in rows if row[2] != " "]
    assert [*groups] == [f"{origin.value}:" for origin in PassOrigin]
    assert all(names == sorted(names) for names in groups.values())
    tvms, own, others = groups.values()
    assert {"FoldConstant", "InferType", "UnrollLoop", "PrintIR"} <= set(tvms)
    assert {"DefaultPipeline", "LowerToTIR", "OutlineSegments"} <= set(own)
    assert "AddFrom" in others
    text = " ".join(result.stdout.split())
    assert "Remove each `let` whose variable is unused." in text


def test_the_configs_are_listed_with_their_types():
    result = opt("--list-configs")
    keys = entries(result)
    assert keys == sorted(keys)
    assert "parpass.asking_workers_seconds=FLOAT" in keys
    assert "tir.UnrollLoop=OBJECT" in keys
    text = " ".join(result.stdout.split())
    assert "rules for unrolling loops; fields: auto_max_step, auto_max_depth, " in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "DeadCodeElimination",
            [
                "DeadCodeElimination: a function pass, runs from -O1\n\nRemove each",
                "    inline_once: Whether to inline values that are used once",
                "\n\nOptions:\ninline_once=false      bool\n",
            ],
        ),
        ("relay._transform.FoldConstant", ["relay._transform.FoldConstant: a func"]),
        ("InferType", ["a module pass that works function by function, runs from -O0"]),
        ("RemoveUnusedFunctions", [": a module pass, runs from -O"]),
        ("AddFrom", ["\nOptions:\nother=...  str; must be given\n"]),
        ("Keep", ["\nNo options.\n"]),
    ],
)
def test_a_pass_tells_of_itself(name: str, expected: list[str]):
    result = opt("--help-pass", name)
    assert (result.exit_code, result.stderr) == (0, "")
    for text in expected:
        assert text in result.stdout


def test_every_pass_tells_of_itself():
    for name in registered_passes():
        assert help_pass(name).startswith(f"{name}: a ")


def test_an_unknown_pass_is_a_usage_error():
    result = opt("--help-pass", "FoldConst")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no pass named 'FoldConst'; did you mean 'FoldConstant'" in result.stderr
