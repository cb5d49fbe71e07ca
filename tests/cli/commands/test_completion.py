"""What the shell is offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from parpass.cli import main
from tests.support.registering import registering_for_a_while


def offered(*arguments: str) -> list[str]:
    """Return what completes the last of some arguments."""
    *before, last = arguments
    shell = ShellComplete(main, {}, "parpass", "_PARPASS_COMPLETE")
    return [item.value for item in shell.get_completions(before, last)]


@pytest.mark.parametrize(
    ("arguments", "completed"),
    [
        (["-p", "FoldC"], "FoldConstant"),
        (["-p", "InferType,FoldC"], "InferType,FoldConstant"),
        (["-p", "sequential{name=s}(FoldC"], "sequential{name=s}(FoldConstant"),
        (["-p", "DeadCodeElimination{inl"], "DeadCodeElimination{inline_once="),
        (["--help-pass", "FoldC"], "FoldConstant"),
        (["--print-ir-after=InferType,FoldC"], "InferType,FoldConstant"),
        (["--config", "relay.FuseOps.max"], "relay.FuseOps.max_depth="),
        (["--ir", "re"], "relay"),
        (["--verify-d"], "--verify-diagnostics"),
    ],
)
def test_names_are_completed(arguments: list[str], completed: str):
    assert completed in offered("opt", *arguments)


def test_passes_that_are_loaded_are_completed(tmp_path: Path):
    path = tmp_path / "completed_passes.py"
    path.write_text(
        "from parpass.transform import PassInfo, ModulePass, register_pass\n"
        "register_pass('completed.OneAndOnly')(type('One', (ModulePass,), "
        "{'pass_info': PassInfo(0, 'One')}))\n"
    )
    with registering_for_a_while():
        found = offered("opt", "--load", str(path), "-p", "OneA")
    assert found == ["OneAndOnly"]
    assert offered("opt", "--load", "nowhere.py", "-p", "FoldC") == ["FoldConstant"]


def test_commands_are_completed():
    assert "replay" in offered("re")


def test_options_of_a_pass_that_is_not_there_are_none():
    assert offered("opt", "-p", "Nowhere{x") == []
