"""Much text of a slow IR is for workers that load while the command still does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.cli.operations.preload import modules_to_preload
from parpass.integrations.xdsl.xdsl_plugin import MLIR, worker_modules

FUNCTION = """\
func.func @f{at}(%a: i32) -> i32 {{
  %zero = arith.constant 0 : i32
  %0 = arith.addi %a, %zero : i32
{uses}  func.return %0 : i32
}}
"""
USE = '  "odd.op"(%0) : (i32) -> ()\n'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A long program, which is read soon."""
    path = tmp_path / "long.mlir"
    uses = USE * (MLIR.preload_bytes // len(USE) // 8)
    path.write_text("".join(FUNCTION.format(at=at, uses=uses) for at in range(9)))
    return path


@pytest.mark.slow
def test_what_comes_out_is_what_comes_out_of_one_process(program: Path):
    command = [sys.executable, "-m", "parpass", "opt", "-pcanonicalize", str(program)]
    shown = subprocess.run(
        [*command, "-j2", "--explain-speed"], capture_output=True, text=True, check=True
    )
    alone = CliRunner().invoke(main, [*command[3:], "-j0"])
    assert shown.stdout == alone.stdout
    assert "local: too little work" not in shown.stderr
    assert "in the workers" in shown.stderr


def test_nothing_else_loads_before_workers_begin_to():
    """Neither in the command nor in workers, which load what it begins with."""
    # On some Pythons what parpass cannot do without loads `inspect` itself.
    begins = "import sys, concurrent.futures.thread, logging; usual = {*sys.modules}\n"
    begins += "import parpass.cli.entry, parpass.cli.supervisor\n"
    begins += "import parpass.cli.operations.preload\n"
    named = "{'click', 'inspect', 'parpass.transform', 'xdsl'}"
    shown = f"print({named} & {{*sys.modules}} - usual)"
    made = subprocess.run(
        [sys.executable, "-c", begins + shown],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == "set()\n"


def test_little_text_one_process_and_a_pipe_need_none(program: Path, tmp_path: Path):
    assert modules_to_preload([program], None, 2)
    assert (
        modules_to_preload([program], None, 1)
        == modules_to_preload([program], None, 0)
        == ()
    )
    assert modules_to_preload([program, program], None, 2) == ()
    assert modules_to_preload([program], "relay", 2) == ()
    assert modules_to_preload([Path("-")], "mlir", 2) == ()
    small = tmp_path / "small.mlir"
    small.write_text(FUNCTION.format(at=0, uses=""))
    assert modules_to_preload([small], None, 2) == ()


def starts_loading(lines: list[list[str]]) -> bool:
    """Return whether a process starts another one for one of these command lines."""
    seen = "import json, psutil, sys\n"
    seen += "from parpass.cli.operations.preload import preload_from_argv\n"
    seen += "for line in json.loads(sys.argv[1]):\n    preload_from_argv(line)\n"
    seen += "print(json.dumps(len(psutil.Process().children()) > 0))"
    command = [sys.executable, "-c", seen, json.dumps(lines)]
    return json.loads(subprocess.check_output(command))


@pytest.mark.slow
def test_what_is_loaded_ahead_is_for_workers_of_this_machine_alone(program: Path):
    line = ["opt", str(program), "-p", "cse"]
    assert starts_loading([[*line, "--load", "x", "-j2"]])
    others = (
        *("-j0", "-j 0", "--jobs=0", "--jobs 1", "--disable-threading"),
        *("--dask=tcp://a:1", "--dask tcp://a:1", "--executor dask://a:1"),
    )
    in_mlir_opt = ["mlir-opt", *line[1:]]
    assert not starts_loading(
        [
            *([*line, *one.split()] for one in others),
            *([*in_mlir_opt, *one.split()] for one in ("-j 1", "--workers=0")),
        ]
    )


@pytest.mark.slow
def test_a_codemod_on_a_folder_is_for_workers_unless_results_may_be_cached(
    program: Path,
):
    line = ["codemod", "rename.RenameCommand"]
    on_folder = [*line, str(program.parent)]
    assert starts_loading([[*on_folder, "-j2"]])
    assert not starts_loading(
        [
            *(
                [*on_folder, *one]
                for one in (["-j0"], ["--cache="], ["-j2", "--cache"])
            ),
            [*line, str(program), "-j2"],
        ]
    )


def test_dialects_are_told_by_the_names_of_operations():
    text = "%c.d = arith.addi %a, %b\n #map.x memref.load\n"
    found = worker_modules(text)
    named = {one.rpartition(".")[2] for one in found if ".dialects." in one}
    assert named == {"arith", "memref"}
