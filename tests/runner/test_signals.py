"""A program that is interrupted or killed leaves no process and no folder."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from parpass.runner import open_runner
from parpass.runner.ipc.shared_dir import SharedDirectory, remove_stale
from parpass.runner.pool.lifecycle import end_idle
from parpass.transform import register_adapter
from tests.support.cells import by_turns
from tests.support.runner.pooled import folders, new_pipe, run_pooled
from tests.support.toy.hard_passes import Hang
from tests.support.toy.ir import Fn, Program, ToyAdapter, program, values_of
from tests.support.toy.passes import Add

pytestmark = pytest.mark.slow

SCRIPT = """
import asyncio, sys
import parpass, trio
from tests.support.toy.hard_passes import Hang, HoldLock
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program

async def run():
    hang = Hang(sys.argv[2])
    await parpass.run_pipeline(program(1, 2, 3), [hang], context=pooled(), workers=2)

def run_sync():
    hang = Hang(sys.argv[2])
    parpass.run_pipeline_sync(program(1, 2, 3), [hang], context=pooled(), workers=2)

def run_holding_lock():
    hold = HoldLock(sys.argv[2], 1)
    parpass.run_pipeline_sync(program(1, 2), [hold], context=pooled(), workers=2)

async def notebook():
    run_sync()

forms = {
    "trio": lambda: trio.run(run),
    "asyncio": lambda: asyncio.run(run()),
    "plain": run_sync,
    "holding lock": run_holding_lock,
    # Not asyncio.run, which has its own way with the first Ctrl-C.
    "notebook": lambda: asyncio.new_event_loop().run_until_complete(notebook()),
}
forms[sys.argv[1]]()
"""


def started(form: str, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a program in a process group of its own; return when it is in a worker."""
    begun = new_pipe(tmp_path)
    program = launched(form, begun)
    begun.read_bytes()
    return program


def launched(form: str, begun: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, form, str(begun)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )


def all_has_ended(program: subprocess.Popen[str]) -> str:
    """Return what was written to stderr, which all of its processes hold open."""
    try:
        return program.communicate(timeout=200)[1]
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        raise


@by_turns(
    ("form", "whole_group"), ["plain", "trio", "notebook", "asyncio"], [True, False]
)
def test_ctrl_c_ends_all(form: str, whole_group: bool, tmp_path: Path):
    program = started(form, tmp_path)
    # A terminal sends it to the workers as well.
    if whole_group:
        os.killpg(program.pid, signal.SIGINT)
    else:
        program.send_signal(signal.SIGINT)
    said = all_has_ended(program)
    assert "\nKeyboardInterrupt" in said
    assert program.returncode in (-signal.SIGINT, 1)
    assert not folders(program.pid)


def test_what_a_handler_of_signals_raises_ends_the_run_and_no_other(tmp_path: Path):
    late, begun = TimeoutError("late"), new_pipe(tmp_path)

    def handle(*_: object) -> None:
        raise late

    def send() -> None:
        begun.read_bytes()
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    sending = threading.Thread(target=send)
    sending.start()
    try:
        with open_runner(workers=1) as runner:
            with pytest.raises(TimeoutError) as caught:
                run_pooled(runner, Hang(str(begun)), program(1))
            assert caught.value is late
            after = run_pooled(runner, Add(1), program(1))
    finally:
        sending.join()
        signal.signal(signal.SIGUSR1, before)
    assert values_of(after) == {"f0": (2,)}
    assert not folders()


class SlowProgram(Program):
    """A module with a function that takes long to encode."""


class SlowAdapter(ToyAdapter):
    """Handles such modules: the function with this value is encoded when it may be."""

    SLOW = -7

    def __init__(self) -> None:
        self.is_encoding, self.goes_on = threading.Event(), threading.Event()

    def encode_function(self, function: Fn, blob_sink: Any) -> bytes:
        if function.values == (self.SLOW,) and not self.goes_on.is_set():
            self.is_encoding.set()
            self.goes_on.wait()
        return super().encode_function(function, blob_sink)

    def __reduce__(self) -> Any:
        return SlowAdapter, ()


def wait_until_loops_end() -> None:
    """Wait until no thread coordinates a stage, as far as they end at all."""
    until = time.monotonic() + 5
    while any(one.name == "parpass-loop" for one in threading.enumerate()):
        if time.monotonic() > until:
            return
        end_idle()
        time.sleep(0.01)


def test_a_run_that_is_interrupted_twice_writes_to_no_file_of_the_program(
    tmp_path: Path,
):
    adapter, late = SlowAdapter(), TimeoutError("late")
    register_adapter(SlowProgram, adapter)

    def handle(*_: object) -> None:
        raise late

    def send() -> None:
        adapter.is_encoding.wait()
        for _ in range(2):
            time.sleep(0.2)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    wait_until_loops_end()
    before = signal.signal(signal.SIGUSR1, handle)
    sending = threading.Thread(target=send)
    sending.start()
    mod = SlowProgram(program(*range(400), adapter.SLOW, *range(400)).functions)
    files = [tmp_path / f"{at}" for at in range(20)]
    try:
        with open_runner(workers=1) as runner:
            with pytest.raises(TimeoutError):
                run_pooled(runner, Add(1), mod)
            with contextlib.ExitStack() as opened:
                # One of these has the descriptor that a file of the run had.
                for one in files:
                    opened.enter_context(one.open("wb"))
                adapter.goes_on.set()
                wait_until_loops_end()
            assert [one.stat().st_size for one in files] == [0] * len(files)
            after = run_pooled(runner, Add(1), mod)
    finally:
        sending.join()
        signal.signal(signal.SIGUSR1, before)
    assert values_of(after)["f1"] == (2,)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_and_tidy_up_after_a_program_that_was_killed(
    sent: signal.Signals, tmp_path: Path
):
    program = started("plain", tmp_path)
    program.send_signal(sent)
    assert all_has_ended(program) == ""
    assert program.returncode == -sent
    assert not folders(program.pid)


UNUSED = """
import os
from parpass.runner.ipc.shared_dir import SharedDirectory
from parpass.runner.pool.worker_pool import Pool
from tests.support.runner.jobs import echo

folder = SharedDirectory()
executor = Pool(1)
executor.submit(echo, b"1").result()
assert os.path.isdir(folder.path)
print(folder.path, flush=True)
os.kill(os.getpid(), 9)
"""


def test_workers_tidy_up_what_they_were_not_told_of():
    ended = subprocess.run(
        [sys.executable, "-c", UNUSED],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=200,
    )  # the worker holds its output
    assert (ended.stderr, ended.returncode) == ("", -signal.SIGKILL)
    assert not os.path.exists(ended.stdout.strip())


def test_a_worker_that_cannot_notice_is_ended_by_the_others(tmp_path: Path):
    pipes = [tmp_path / f"begun-{number}" for number in (1, 2)]
    for pipe in pipes:
        os.mkfifo(pipe)
    program = launched("holding lock", tmp_path / "begun")
    for pipe in pipes:
        pipe.read_bytes()
    program.kill()
    assert all_has_ended(program) == ""
    assert not folders(program.pid)
    os.killpg(program.pid, signal.SIGKILL)  # what sleeps


def test_after_workers_and_all_were_killed_the_next_run_tidies_up(tmp_path: Path):
    program = started("plain", tmp_path)
    (left,) = folders(program.pid)
    with contextlib.ExitStack() as removing:
        others = [SharedDirectory(), SharedDirectory()]
        for one in others:
            removing.callback(one.remove)
        found = [Path(left), *(Path(one.path) for one in others)]
        remove_stale(found)
        assert folders(program.pid) == {left}  # it is in use
        os.killpg(program.pid, signal.SIGKILL)
        all_has_ended(program)
        # A process that ends closes stderr, by which we know, before it loses its lock.
        until = time.monotonic() + 30
        while folders(program.pid) and time.monotonic() < until:
            remove_stale(found)
        assert not folders(program.pid)
        assert all(os.path.isdir(one.path) for one in others)
