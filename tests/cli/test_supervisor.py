"""A crash of the command is told, with pass and function, by a process outliving it."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parpass.cli.supervisor import can_supervise, crash_message, read_body, write_body
from tests.support.other_processes import until
from tests.support.relay.breaking import PROGRAM
from tests.support.relay.reproducing import BREAKING

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    return path


def command(name: str, *arguments: str | Path) -> list[str | Path]:
    """Return a command line of the command as a process of its own."""
    return [sys.executable, "-m", "parpass", name, *arguments, "--load", BREAKING]


def crashed(how: str, model: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Return what became of a run in which a pass ends its process."""
    pipeline = f"InferType,CrashOnExp{{how={how}}}"
    return subprocess.run(
        command("opt", model, "-p", pipeline, *options),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=200,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "cause"),
    [("segfault", "SIGSEGV(-11)"), ("kill", "SIGKILL(-9)"), ("exit", "EXIT(7)")],
)
def test_a_crash_names_pass_and_function(how: str, cause: str, model: Path):
    result = crashed(how, model)
    assert (result.returncode, result.stdout) == (1, "")
    first, *others = result.stderr.splitlines()
    assert first == (
        f"Error: pass 'CrashOnExp' on function 'inner' killed the process: {cause}"
    )
    where = [line for line in others if "where: " in line]
    assert len(where) == (how == "segfault")
    assert all(os.path.relpath(BREAKING) in line for line in where)  # not ctypes
    assert "Fatal Python error" not in result.stderr


@pytest.mark.slow
def test_all_of_where_it_was_is_shown_when_asked_for(model: Path):
    result = crashed("segfault", model, "--traceback", "-j0")
    assert "Fatal Python error: Segmentation fault" in result.stderr
    assert "breaking.py" in result.stderr
    assert "killed the process: SIGSEGV(-11)" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_signals_are_passed_on(sent: signal.Signals, code: int, tmp_path: Path):
    process, pipe = waiting(tmp_path)
    with process, pipe.open("wb"):  # waits until the command reads
        ended = answer_to(sent, process)
    assert ended == (b"", b"")
    assert process.returncode == code


_INTERRUPTING = """\
from parpass.transform.capture import bodies

class Interrupts(bodies.BodyObserver):
    def begin(self, body, context):
        raise KeyboardInterrupt

def change(text):
    raise AssertionError("the body never begins")

bodies.add_observer(Interrupts())
"""


@pytest.mark.slow
def test_an_interrupt_as_a_body_begins_is_no_crash(tmp_path: Path):
    (tmp_path / "interrupting.py").write_text(_INTERRUPTING)
    (tmp_path / "a.py").write_text("a\n")
    result = subprocess.run(
        command("codemod", "interrupting.change", "a.py", "-j0")[:-2],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=200,
    )
    told = "Interrupted: no file was written\n"
    assert (result.returncode, result.stdout, result.stderr) == (130, "", told)


@pytest.mark.slow
def test_when_the_outer_process_is_killed_the_inner_one_is(tmp_path: Path):
    process, pipe = waiting(tmp_path)
    with pipe.open("wb"):
        [child] = children(process.pid)
        process.kill()
        process.communicate(timeout=200)
        until(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.slow
def test_who_ignores_the_end_of_children_is_answered_too(model: Path):
    result = subprocess.run(
        command("opt", model, "-p", "InferType"),
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=200,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_a_command_that_is_killed_while_it_reads_ends_as_killed(tmp_path: Path):
    process, pipe = waiting(tmp_path)
    with process, open(pipe, "wb"):  # it is read now
        (child,) = children(process.pid)
        os.kill(child, signal.SIGKILL)
        _, told = process.communicate(timeout=200)
    assert process.returncode == -signal.SIGKILL
    assert told == b""


@pytest.mark.parametrize(
    ("options", "without"),
    [
        ([], ""),
        (["-j2"], ""),
        (["-j", "10"], ""),
        (["-j0"], ", without -j0,"),
        (["-j", "0"], ", without -j0,"),
        (["--jobs=0", "-q"], ", without -j0,"),
        (["--jobs", "0"], ", without -j0,"),
        (["--mlir-disable-threading"], ", without -j0,"),
    ],
)
@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("codemod", "use --isolate{} to continue with the other files"),
        ("opt", "run parpass opt{} with --reproducer PATH to get a reproducer"),
    ],
)
def test_advice_speaks_of_no_workers_to_who_asked_for_none(
    options: list[str],
    without: str,
    command: str,
    advice: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sys, "argv", ["parpass", command, "x.relay", *options])
    assert advice.format(without) in crash_message(("Fold", "main"), -11, "")


def test_a_long_message_has_all_there_is_to_try():
    told = (
        'Current thread 0x1 (most recent call first):\n  File "p.py", line 3 in fold\n'
    )
    assert crash_message(("Fold", "main"), -11, told) == (
        "pass 'Fold' on function 'main' killed the process: SIGSEGV(-11)\n"
        "  where: p.py:3, in fold; --traceback shows all\n"
        "  run parpass opt with --reproducer PATH to get a reproducer, or with "
        "--on-failure=skip to leave the function as it was"
    )
    assert crash_message(("Whole", None), 7, "") == (
        "pass 'Whole' on the module killed the process: EXIT(7)"
    )


@pytest.mark.parametrize("function", ["\udcff.py", "\ud800" * 5000, "é" * 5000, None])
def test_a_body_has_a_name_of_any_characters(function: str | None):
    with mmap.mmap(-1, mmap.PAGESIZE) as trail:
        write_body(trail, ("Fold", function))
        told = read_body(trail)
    assert told is not None
    assert (function or "None").startswith(str(told[1]))
    assert told[0] == "Fold"


def test_a_body_that_was_half_written_is_told_as_far_as_it_is_text():
    with mmap.mmap(-1, mmap.PAGESIZE) as trail:
        write_body(trail, ("Fold", "main"))
        trail[3] = 0xFF
        assert read_body(trail) == ("F\N{REPLACEMENT CHARACTER}ld", "main")


def test_a_process_with_a_debugger_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "gettrace", lambda: object())
    assert not can_supervise()


def waiting(folder: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """Return a command that waits for its input, and the pipe that this comes by."""
    pipe = folder / "model.relay"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        command("opt", pipe, "-p", "InferType"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    return process, pipe


def answer_to(
    sent: signal.Signals, process: subprocess.Popen[bytes]
) -> tuple[bytes, bytes]:
    """Return what a process writes that ends by a signal.

    CPython looks for signals before a call that waits, not as it enters it; one that
    arrives in between is seen after the wait. So it is sent again, as a person would
    who pressed Ctrl-C.
    """
    try:
        for _ in range(3):
            process.send_signal(sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=60)
    finally:
        process.kill()
    raise AssertionError(f"{sent!r} was sent three times")


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(one) for one in text.split()]
