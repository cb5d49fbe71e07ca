"""The command as a program: what it sets in a process that is its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ENDS = """\
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from parpass.cli.entry import run
sys.argv = ["parpass", "--version"]
run()
"""
_INTERRUPTED = """\
import signal, sys
from parpass.cli.entry import run

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "parpass.cli.group":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["parpass", "--version"]
run()
"""
_INTERRUPTED_TWICE = """\
import signal, sys
from parpass.cli.commands import explain
from parpass.cli.entry import run

usual = signal.signal

def interrupted(number, handler):
    if number == signal.SIGINT:
        signal.signal = usual
        raise KeyboardInterrupt
    return usual(number, handler)

def interrupt(*args, **kwargs):
    raise KeyboardInterrupt

explain.explain.callback = interrupt
signal.signal = interrupted
sys.argv = ["parpass", "explain", "InferType"]
run()
"""
_INTERRUPTED_AT_THE_END = """\
import atexit, signal, sys
atexit.register(lambda: signal.raise_signal(signal.SIGINT))
from parpass.cli.entry import run
sys.argv = ["parpass", "--version"]
run()
"""
_LEFT_OPEN = """\
import gc
left_open = open("told.txt", "w")
left_open.write(str(gc.get_threshold()[0]))
def keeps_its_globals(): pass
"""


def _shown(*arguments: str, cwd: Path | None = None) -> str:
    made = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
    )
    return made.stdout


def test_no_garbage_is_looked_for_at_the_end():
    assert _shown("-c", _ENDS).splitlines()[-1] == "True"


@pytest.mark.slow
def test_garbage_is_looked_for_seldom_and_what_a_module_leaves_open_is_written(
    tmp_path: Path,
):
    (tmp_path / "loaded.py").write_text(_LEFT_OPEN)
    (tmp_path / "empty.relay").write_text("def @main() { () }\n")
    _shown("-m", "parpass", "opt", "--load", "loaded", "empty.relay", cwd=tmp_path)
    assert int((tmp_path / "told.txt").read_text()) >= 200_000


def written_to(
    file: str, mode: str, unbuffered: str, *words: str | Path
) -> tuple[int, str]:
    """Return exit code and errors of a command whose output is an opened file."""
    with open(file, mode) as opened:
        made = subprocess.run(
            [sys.executable, "-m", "parpass", *words],
            stdout=opened,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    return made.returncode, made.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_a_full_disk_does_not_take_is_told_once(tmp_path: Path, unbuffered: str):
    path = tmp_path / "empty.relay"
    path.write_text("def @main() { () }\n")
    told = "Error: cannot write '-': No space left on device\n"
    assert written_to("/dev/full", "wb", unbuffered, "opt", path) == (2, told)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words",
    [["--version"], ["--help"], ["opt", "--list-passes"], ["explain", "InferType"]],
)
def test_text_that_a_full_disk_does_not_take_is_no_traceback(
    words: list[str], unbuffered: str
):
    told = "Error: cannot write: No space left on device\n"
    assert written_to("/dev/full", "wb", unbuffered, *words) == (2, told)


def test_ctrl_c_is_quiet_while_the_command_still_loads():
    made = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], capture_output=True, check=False
    )
    assert (made.returncode, made.stdout, made.stderr) == (130, b"", b"")


def test_a_second_ctrl_c_does_not_take_the_exit_code_of_the_first():
    made = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_TWICE], capture_output=True, check=False
    )
    assert (made.returncode, made.stdout, made.stderr) == (130, b"", b"")


def test_ctrl_c_is_ignored_once_the_command_is_over():
    made = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_AT_THE_END],
        capture_output=True,
        check=False,
    )
    assert (made.returncode, made.stderr) == (0, b"")


_REMOVES_ITS_FOLDER = """
import os, tempfile

from parpass.transform import function_pass, register_pass


@register_pass("test.Rm")
@function_pass(opt_level=0)
def rm(func, mod, ctx):
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    raise ValueError("boom")
"""


@pytest.mark.slow
def test_a_pass_that_fails_in_a_folder_that_is_gone_is_told(tmp_path: Path):
    (tmp_path / "rm.py").write_text(_REMOVES_ITS_FOLDER)
    (tmp_path / "empty.relay").write_text("def @main() { () }\n")
    words = ["opt", "-j0", "empty.relay", "--load", "rm.py", "-p", "Rm"]
    made = subprocess.run(
        [sys.executable, "-m", "parpass", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 1
    assert made.stderr.startswith(
        "Error: ValueError: boom\n  in pass 'rm', on function"
    )
    assert "rm.py:13, in rm; --traceback shows all" in made.stderr


@pytest.mark.slow
def test_a_standard_output_that_is_not_for_writing_is_told():
    told = "Error: cannot write: Bad file descriptor\n"
    assert written_to(__file__, "rb", "", "--version") == (2, told)
