"""What the shell is offered."""

from __future__ import annotations

import os
import subprocess
import sys
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


BASH = """\
eval "$(_PARPASS_COMPLETE=bash_source $PARPASS)"
COMP_WORDS=(parpass opt -p FoldC) COMP_CWORD=3
_parpass_completion "$PARPASS" FoldC -p
echo "${COMPREPLY[@]}"
"""


@pytest.mark.slow
def test_bash_completes_by_the_line_of_the_page():
    found = subprocess.run(
        ["bash", "--norc", "-c", BASH],
        env={**os.environ, "PARPASS": str(Path(sys.executable).with_name("parpass"))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (found.stdout, found.stderr) == ("FoldConstant\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "at"), [("zsh", "3"), ("fish", "FoldC")])
def test_other_shells_get_a_script_and_what_it_asks_for(shell: str, at: str):
    words = {"COMP_WORDS": "parpass opt -p FoldC", "COMP_CWORD": at}
    source, offered = (
        subprocess.run(
            [sys.executable, "-m", "parpass"],
            env={**os.environ, **words, "_PARPASS_COMPLETE": f"{shell}_{what}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for what in ("source", "complete")
    )
    assert f"_PARPASS_COMPLETE={shell}_complete" in source
    assert "FoldConstant" in offered


def test_commands_are_completed():
    assert "replay" in offered("re")


def test_options_of_a_pass_that_is_not_there_are_none():
    assert offered("opt", "-p", "Nowhere{x") == []
