"""`--print-ir-after-change`: diffs, as a user of the command gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main

PROGRAM = """
def @main(%x: Tensor[(3,), float32]) { add(%x, exp(1f)) }
def @other(%x: Tensor[(3,), float32]) { multiply(%x, exp(2f)) }
"""
PASSES = "InferType,FoldConstant,EliminateCommonSubexpr"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "net.relay"
    path.write_text(PROGRAM)
    return path


def opt(program: Path, *options: Any) -> Result:
    output = program.with_name("out.relay")
    arguments = ["opt", program, "-p", PASSES, "-O3", "-o", output, "-q", *options]
    return CliRunner().invoke(main, [*map(str, arguments)])


def titles(result: Result) -> list[str]:
    assert (result.exit_code, result.stdout) == (0, "")
    return [line for line in result.stderr.splitlines() if line.startswith("//")]


def test_globs_of_passes_and_of_functions_choose_the_diffs(program: Path) -> None:
    change = "--print-ir-after-change"
    assert titles(opt(program, "-j0", change)) == [
        f"// {name} changed {function}"
        for name in ("InferType", "FoldConstant")
        for function in ("main", "other")
    ]
    chosen = opt(program, "-j0", f"{change}=Fold*,Elim*", "--filter-print-funcs=o*")
    assert titles(chosen) == ["// FoldConstant changed other"]
    assert "+  multiply(%x, 7.389" in chosen.stderr


def test_diffs_are_the_same_from_workers(program: Path) -> None:
    serial, parallel = (
        opt(program, workers, "--print-ir-after-change") for workers in ("-j0", "-j2")
    )
    assert titles(serial)
    assert parallel.stderr == serial.stderr


def test_a_glob_that_matches_nothing_is_told_with_the_nearest_name(
    program: Path,
) -> None:
    result = opt(program, "-j0", "--print-ir-after-change=FoldConst")
    assert result.exit_code == 2
    assert "no pass matches 'FoldConst'; did you mean 'FoldConstant'?" in result.stderr
    assert not program.with_name("out.relay").exists()
    result = opt(program, "-j0", "--print-ir-after-change", "--filter-print-funcs=othr")
    assert titles(result) == []
    assert result.stderr == "Note: no function matches 'othr'; did you mean 'other'?\n"


def test_functions_that_are_chosen_for_nothing_are_refused(program: Path) -> None:
    result = opt(program, "-j0", "--filter-print-funcs=main")
    assert result.exit_code == 2
    assert "functions for --print-ir-after-change or --dump-ir" in result.stderr
    assert not program.with_name("out.relay").exists()
