"""`parpass mlir-opt` starts as `xdsl-opt` does, and says what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main

PROGRAM = "func.func @f() {\n  func.return\n}\n"
_SHOWN = "import atexit, sys\natexit.register(lambda: print(*sys.modules))\n"
_RUN = (
    "sys.argv[1:] = ['mlir-opt', '-p', 'cse']\nfrom parpass.cli.entry import run\nrun()"
)


@pytest.mark.slow
def test_for_a_small_program_nothing_is_loaded_but_xdsl():
    made = subprocess.run(
        [sys.executable, "-c", _SHOWN + _RUN],
        input=PROGRAM,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(made.stdout.splitlines()[-1].split())
    assert "xdsl.xdsl_opt_main" in modules
    assert not modules & {
        "click",
        "trio",
        "loky",
        "parpass.runner",
        "parpass.transform",
    }


def test_without_xdsl_the_extra_is_named():
    hidden = "import sys\nsys.modules['xdsl'] = None\n"
    made = subprocess.run(
        [sys.executable, "-c", hidden + _RUN],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 2
    assert (
        made.stderr == "Error: parpass mlir-opt needs xdsl; install 'parpass[xdsl]'\n"
    )


def test_as_a_subcommand_it_takes_all_arguments_as_they_are(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    told = CliRunner().invoke(main, ["mlir-opt", str(path), "-p", "cse", "-j0"])
    assert (told.exit_code, told.output) == (0, f"builtin.module {{\n{_inner()}}}\n\n")
    told = CliRunner().invoke(main, ["mlir-opt", "--nonesuch"])
    assert told.exit_code == 2
    assert "parpass mlir-opt: error: unrecognized arguments: --nonesuch" in told.output


def _inner() -> str:
    return "".join(f"  {line}\n" for line in PROGRAM.splitlines())
