"""However a program ends, it ends promptly, and no process of a runner is left."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from parpass.runner import open_runner
from tests.support.runner.pooled import run_pooled
from tests.support.toy.hard_passes import AppendPid
from tests.support.toy.ir import program, values_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# A program whose runner is open, and whose workers write their numbers to a file.
BEGIN = """
import multiprocessing, os, sys, threading, time, warnings
import parpass
from parpass.transform import function_pass
from tests.support.toy.hard_passes import AppendPid
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program, values_of

def run(runner, number=3):
    made = runner.run_sync(program(*range(number)), AppendPid(), context=pooled())
    with open(sys.argv[1], "a") as file:
        for values in values_of(made).values():
            print(values[-1], file=file)
    return made

def hang(func, mod, ctx):
    os.write(writer, b"begun")
    time.sleep(300)

def run_hanging(runner):
    runner.run_sync(
        program(1), function_pass(hang, opt_level=0, name="Hang"), context=pooled())
"""

UNCLOSED = """
runner = parpass.open_runner(workers=2)
run(runner)
print("done", flush=True)
"""

IN_A_THREAD = """
runner = parpass.open_runner(workers=2)
run(runner)
main = threading.main_thread()

def outlive():
    main.join()
    # Python 3.12.0 and 3.12.1 start no threads then.
    warnings.filterwarnings("ignore", "no processes can be started")
    assert len(values_of(run(runner))) == 3
    print("done", flush=True)

threading.Thread(target=outlive).start()
"""

IN_A_DAEMON_THREAD = """
reader, writer = os.pipe()
os.set_inheritable(writer, True)
path = f"/proc/{os.getpid()}/fd/{writer}"

def hang(func, mod, ctx):
    with open(path, "wb") as file:
        file.write(b"begun")
    time.sleep(300)

runner = parpass.open_runner(workers=2)
run(runner)
threading.Thread(target=run_hanging, args=(runner,), daemon=True).start()
assert os.read(reader, 5) == b"begun"
print("done", flush=True)
"""

AFTER_AN_ERROR = UNCLOSED + "sys.exit('an error')"

IN_A_CHILD = """
def in_child():
    global runner
    runner = parpass.open_runner(workers=2)
    run(runner)

for method in ("fork", "spawn", "forkserver"):
    if __name__ == "__main__":
        child = multiprocessing.get_context(method).Process(target=in_child)
        child.start()
        child.join(150)
        assert child.exitcode == 0, child.exitcode
if __name__ == "__main__":
    print("done", flush=True)
"""


@pytest.mark.parametrize(
    "rest", [UNCLOSED, IN_A_THREAD, IN_A_DAEMON_THREAD, AFTER_AN_ERROR, IN_A_CHILD]
)
def test_a_program_that_never_closes_its_runner_ends_and_its_workers_do(
    rest: str, tmp_path: Path
):
    script, numbers = tmp_path / "script.py", tmp_path / "numbers"
    script.write_text(BEGIN + rest)
    ended = subprocess.run(
        [sys.executable, str(script), str(numbers)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=200,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    error = "an error\n" if rest == AFTER_AN_ERROR else ""
    assert (ended.stdout, ended.stderr) == ("done\n", error)
    workers = {int(line) for line in numbers.read_text().split()}
    assert workers
    psutil.wait_procs(_living(workers), timeout=60)
    assert not _living(workers)


GIVEN_UP = """
import asyncio, sys, threading, time, trio
import parpass
from parpass.transform import module_pass
from tests.support.toy.ir import program

begun = threading.Event()

@module_pass(opt_level=0, name="Hang")
def hang(mod, ctx):
    begun.set()
    time.sleep(300)
    return mod

async def run():
    await parpass.run_pipeline(program(1), hang, workers=0)

async def give_up_under_asyncio():
    running = asyncio.create_task(run())
    await asyncio.to_thread(begun.wait)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()

async def give_up_under_trio():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.to_thread.run_sync(begun.wait)
        nursery.cancel_scope.cancel()

if sys.argv[1] == "asyncio":
    asyncio.run(give_up_under_asyncio())
else:
    trio.run(give_up_under_trio)
print("done", flush=True)
"""


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_module_pass_that_was_given_up_does_not_keep_the_program(library: str):
    ended = subprocess.run(
        [sys.executable, "-c", GIVEN_UP, library],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)


def test_a_runner_that_nobody_has_any_more_ends_its_processes():
    runner = open_runner(workers=2)
    made = run_pooled(runner, AppendPid(), program(1, 2, 3))
    workers = _living({values[-1] for values in values_of(made).values()})
    assert workers
    del runner
    gc.collect()
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive
    assert gone


def _living(numbers: set[int]) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for one in numbers:
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end just now
            found.append(psutil.Process(one))
    return found


AT_THE_END = """
import atexit, sys, warnings
import parpass
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

def run():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = parpass.run_pipeline_sync(
            program(1, 2, 3), Add(1), context=pooled(), workers=2)
    assert made == Add(1)(program(1, 2, 3))
    assert all("no processes can be started" in str(one.message) for one in told)
    assert len(told) <= 1, told
    return told
"""


@pytest.mark.parametrize(
    "rest",
    [
        "atexit.register(lambda: (run(), print('done')))",
        "assert not run(); atexit.register(lambda: (run(), print('done')))",
    ],
)
def test_a_run_when_the_program_is_at_its_end_is_as_any_other_or_stays_here(rest: str):
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END + rest],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)
