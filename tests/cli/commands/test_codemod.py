"""`parpass codemod`: what it prints, exits with, and leaves when it is interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from tests.support.integrations.codemods import contents, write_files
from tests.support.runner.pooled import new_pipe

CODEMODS = "tests.support.integrations.codemods"
CODEMOD = f"{CODEMODS}.Rename"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["codemod", "-j0", *map(str, arguments)])


def test_files_are_changed_and_told_of(tmp_path: Path):
    folder = write_files(tmp_path, a="old\n", b="doubtful\n", c="private\n", d="x = (")
    for option, verb in ("-n", "would change"), ("-j0", "changed"):
        told = run(CODEMOD, folder, option, "--", "--old", "old", "--new=x")
        assert told.exit_code == 1  # a file failed
        assert told.stdout == f"{verb}: {folder / 'a.py'}\n"
        assert f"Warning: {folder / 'b.py'}: doubtful" in told.stderr
        assert f"Skipped: {folder / 'c.py'}: it is private" in told.stderr
        assert f"Error: {folder / 'd.py'}:1:6: ParserSyntaxError" in told.stderr
        assert told.stderr.endswith("4 files: 1 changed, 1 skipped, 1 failed\n")
    assert (folder / "a.py").read_bytes() == b"x\n"


def test_a_check_exits_with_1_if_a_file_would_change(tmp_path: Path):
    folder = write_files(tmp_path, a="old\n")
    for expected in 1, 0:
        told = run(CODEMOD, folder, "--check", "-q", "--", "--old=old")
        assert (told.exit_code, told.output) == (expected, "")
        (folder / "a.py").write_text("new\n")


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
def test_the_diff_is_a_patch_that_makes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    write_files(
        Path("src"),
        a="x\n" * 9 + "old\n" + "y\n" * 9,
        dos=b"\x0cold\r\nold\r\n",
        odd="old = '\x0b\x1c\u2028'\n",
        **{"pkg/end": "old"},
    )
    shutil.copytree("src", "expected")
    told = run(CODEMOD, "src", "--diff", "-n", "--", "--old=old")
    assert run(CODEMOD, "expected", "--", "--old=old").exit_code == 0
    patch = told.stdout_bytes
    subprocess.run(["patch", "-p0", "--binary", "-s"], input=patch, check=True)
    assert contents(Path("src")) == contents(Path("expected"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'CODEMOD'"),
        ([CODEMOD], "Missing argument 'PATH...'"),
        ([CODEMOD, "."], "the following arguments are required: --old"),
        ([CODEMOD, ".", "--", "--odl=x"], "--old"),
        ([f"{CODEMODS}.upper", ".", "--", "--x"], "takes no arguments"),
        ([f"{CODEMODS}.uper", "."], "there is no 'uper' in module"),
        ([CODEMOD, "nowhere", "--", "--old=x"], "no file or folder 'nowhere'"),
        ([CODEMOD, ".", "--isolate"], "-j0 starts none"),
        ([CODEMOD, ".", "--verify-cache=1"], "there is no cache to verify"),
        ([CODEMOD, ".", "--executor=x"], "expected SCHEME://"),
    ],
)
def test_wrong_commands_are_usage_errors(arguments: list[str], message: str):
    told = run(*arguments)
    assert told.exit_code == 2
    assert message in told.stderr


def test_help_of_a_codemod_and_the_list_of_shipped_ones():
    told = run(CODEMOD, "--", "--help")
    assert (told.exit_code, "Renames names." in told.stdout) == (0, True)
    assert "noop.NOOPCommand\n    Does absolutely nothing.\n" in run("--list").stdout


_BYTES = """\
def upper(text):
    if "fails" in text:
        raise ValueError("it fails")
    return text.upper()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_names_of_files_that_are_no_text_are_written_as_their_bytes(tmp_path: Path):
    write_files(tmp_path / "src", **{"a\udcff": "a\n", "b\udcfe": "fails\n"})
    (tmp_path / "bytes.py").write_text(_BYTES)
    told = subprocess.run(
        [sys.executable, "-m", "parpass", "codemod", "bytes.py:upper", "src", "--diff"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "PYTHONIOENCODING": "utf-8:strict",
        },
        capture_output=True,
        check=False,
    )
    assert told.stderr.startswith(b"Error: src/b\xfe.py: ValueError: it fails\n")
    assert told.stdout.startswith(b"--- src/a\xff.py\n")
    assert told.returncode == 1
    assert (tmp_path / "src" / "a\udcff.py").read_bytes() == b"A\n"


_LOCKED = """\
import threading
class Locked:
    def __init__(self):
        self.lock = threading.Lock()
    def __call__(self, text):
        return text
locked = Locked()
"""


def test_a_codemod_that_no_worker_can_have_is_an_error_without_traceback(
    tmp_path: Path,
):
    folder = write_files(tmp_path, locked=_LOCKED)
    given = ["codemod", f"{folder / 'locked.py'}:locked", str(folder), "--isolate"]
    told = CliRunner().invoke(main, given)
    assert (told.exit_code, told.stdout) == (2, "")
    assert "Locked.body.function.lock" in told.stderr


_SLOW = """\
import pathlib, time
def change(text):
    if "quick" not in text:
        pathlib.Path("begun").write_text("begun")
        while True:  # as a signal may come just before one of them begins
            time.sleep(0.1)
    return "# changed"
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [0, 2])
def test_an_interrupt_leaves_all_files_as_they_were(tmp_path: Path, jobs: int):
    write_files(tmp_path / "src", a="# quick\n", b="b\n", c="c\n")
    before = contents(tmp_path / "src")
    write_files(tmp_path, slow=_SLOW)
    begun = new_pipe(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "parpass", "codemod", "slow.change", "src", f"-j{jobs}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    begun.read_bytes()
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=200)
    assert (process.returncode, told) == (130, "Interrupted: no file was written\n")
    assert contents(tmp_path / "src") == before


_COUNTS_INTERRUPTS = """\
import pathlib, signal, threading
def change(text):
    try:
        pathlib.Path("begun").write_text("begun")
        while True:  # as above
            threading.Event().wait(0.1)
    except KeyboardInterrupt:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        second = signal.sigtimedwait([signal.SIGINT], 0.25)
        pathlib.Path("second").write_text(str(second))
        raise
"""


@pytest.mark.slow
def test_an_interrupt_of_the_process_group_comes_once(tmp_path: Path):
    write_files(tmp_path / "src", a="a\n")
    write_files(tmp_path, counting=_COUNTS_INTERRUPTS)
    begun = new_pipe(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "parpass", "codemod", "counting.change", "src", "-j0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    begun.read_bytes()
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=200)
    assert (process.returncode, told) == (130, "Interrupted: no file was written\n")
    assert (tmp_path / "second").read_text() == "None"
