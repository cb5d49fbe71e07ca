"""`--dump-ir`: files of functions, as a user of the command gets and uses them."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from parpass import IRModule, relay
from parpass.cli import main
from tests.support.cli.calling import opt

NETWORK = """
def @main(%x: Tensor[(3,), float32]) {
  let %y = exp(1f);
  nn.relu(add(%x, %y))
}
"""
CALLER = """
def @caller(%x: Tensor[(3,), float32]) { nn.relu(add(@main(%x), exp(2f))) }
"""

PASSES = "FoldConstant,DeadCodeElimination{inline-once=true},FuseOps,DefuseOps"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "net.relay"
    path.write_text(NETWORK)
    return path


def versions(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_the_command_in_each_file_makes_that_file_again(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "my passes.py"
    plugin.write_text("")
    settings = ["-O3", "--config", "relay.FuseOps.max_depth=1", "--load", plugin]
    given = [program, "-p", PASSES, *settings, "--dump-ir", tmp_path / "dump"]
    assert opt(*given).exit_code == 0
    folder = tmp_path / "dump/main"
    before, *made = versions(folder)
    assert relay.parse(before.read_text()).astext() == relay.parse(NETWORK).astext()
    assert len(made) == 3
    monkeypatch.chdir(folder)
    for one in made:
        slashes, parpass, *words = shlex.split(one.read_text().splitlines()[0])
        assert (slashes, parpass) == ("//", "parpass")
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout_bytes == one.read_bytes().partition(b"\n")[2]
    assert "-O3 --config relay.FuseOps.max_depth=1" in made[1].read_text()


def test_a_text_that_cannot_be_run_by_itself_has_the_reason_in_place_of_a_command(
    program: Path, tmp_path: Path
) -> None:
    program.write_text(NETWORK + CALLER)
    assert (
        opt(program, "-p", "FoldConstant", "--dump-ir", tmp_path / "a").exit_code == 0
    )
    before, made = versions(tmp_path / "a/caller")
    why = "cannot be run by itself: the text refers to what is not in it: no function"
    assert f"{why} named '@main'\n" in made.read_text()
    assert opt(before, "-p", "FoldConstant").exit_code == 2

    large = relay.const(np.ones((40, 50), "float32"))
    x = relay.var("x", shape=(40, 50))
    mod = IRModule({"main": relay.Function([x], relay.add(x, relay.exp(large)))})
    program.write_text(mod.astext())
    assert (
        opt(program, "-p", "FoldConstant", "--dump-ir", tmp_path / "b").exit_code == 0
    )
    before, made = versions(tmp_path / "b/main")
    first, _, _ = made.read_text().partition("\n")
    assert "cannot be run by itself: " in first
    assert "onstant" in first.partition("by itself")[2]
    assert opt(before, "-p", "FoldConstant").exit_code == 2


def test_filters_choose_what_is_dumped(program: Path, tmp_path: Path) -> None:
    program.write_text(NETWORK + CALLER)
    result = opt(
        *(program, "-p", "InferType,FoldConstant", "--mlir-print-ir-tree-dir"),
        *(tmp_path / "dump", "--dump-ir-passes=Fold*", "--filter-print-funcs=ma*"),
    )
    assert result.exit_code == 0
    (folder,) = (tmp_path / "dump").iterdir()
    names = [one.name for one in versions(folder)]
    assert names == ["000_before.relay", "001_FoldConstant.relay"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--dump-ir", "."], "expected an empty directory, and '.' has"),
        (["--dump-ir", "net.relay/x"], "no directory to write to: Not a directory"),
        (["--dump-ir", "d", "--dump-ir-limit=3x"], "512M or 2G, got '3x'"),
        (["--dump-ir", "d", "--dump-ir-passes=FuseOp"], "did you mean 'FuseOps'"),
        (["--dump-ir-limit=1M"], "nothing is dumped without --dump-ir DIR"),
        (["--dump-ir-passes=FuseOps"], "nothing is dumped without --dump-ir DIR"),
    ],
)
def test_what_cannot_be_is_a_usage_error_before_anything_runs(
    program: Path, options: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    result = opt(program, "-p", "FuseOps", *options)
    assert result.exit_code == 2
    assert why in result.stderr
    assert result.stdout == ""


def test_a_dump_ends_at_its_limit_and_the_result_stands(
    program: Path, tmp_path: Path
) -> None:
    given = [program, "-p", PASSES, "--dump-ir", tmp_path / "d", "--dump-ir-limit=.5k"]
    assert opt(*given).exit_code == 2
    result = opt(*given[:-1], "--dump-ir-limit", "0.3kB")
    assert (result.exit_code, result.stderr.count("WARNING")) == (0, 1)
    assert "300 bytes are the limit" in result.stderr
    assert result.stdout == opt(program, "-p", PASSES).stdout
