"""A child that is forked at any moment runs pipelines of its own, and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_program(program: str, *arguments: object, seconds: float = 120.0) -> None:
    """Run a program that says that it is done, and nothing else."""
    ended = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)


# What is imported, and which temporary files are named, while no fork would wait for
# it: both take locks of the library's. And which hooks before forks are registered.
LOADS = """
import os, sys, traceback
import parpass
from parpass import fork_safety

register = os.register_at_fork

def register_at_fork(**hooks):
    if "before" in hooks:
        print("a hook before forks", *traceback.format_stack()[-8:])
    register(**hooks)

os.register_at_fork = register_at_fork

import asyncio, tempfile, threading
import trio
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add, AddFrom

def look(name):
    if threading.get_ident() not in fork_safety._inside.values():
        print(name, *traceback.format_stack()[-8:])

class Look:
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("tests."):  # they are looked for, and not imported
            look(name)

class Lock:
    def __enter__(self):
        look("tempfile")
        lock.acquire()

    def __exit__(self, *error):
        lock.release()

    acquire, release = __enter__, __exit__

sys.meta_path.insert(0, Look())
lock = tempfile._once_lock
tempfile._once_lock = Lock()
given = program(1, 2, 3), [Add(1), AddFrom("f1")]
asyncio.run(parpass.run_pipeline(*given, context=pooled(), workers=2))
trio.run(lambda: parpass.run_pipeline(*given, context=pooled(), workers=2))
parpass.run_pipeline_sync(*given, context=pooled(), workers=2)
parpass.run_pipeline_sync(program(1), "Add{amount=1}", workers=0)
made = parpass.relay.parse("def @f(%x: Tensor[(2), float32]) { add(%x, 1f) }")
passes = "InferType,FoldConstant,SimplifyInference,FuseOps"
made = parpass.run_pipeline_sync(made, passes, context=pooled(), workers=2)
assert "f" in made.functions_by_name
print("done")
"""


@pytest.mark.slow
def test_all_that_runs_load_late_is_loaded_where_a_fork_waits_for_it():
    run_program(LOADS)


# Hooks before a fork are called as they were when it began, those after it as they are
# when it ends: a library must not register such a pair while the fork waits. The hook
# of this program is registered last, so it is called first.
WAITED_FOR = """
import os, threading, warnings
import parpass
from parpass import fork_safety
from parpass.fork_safety import forks_wait
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

TEXT = "def @f(%x: Tensor[(2), float32]) { add(%x, 1f) }"
fork_safety.MAX_WAIT_SECONDS = 100.0  # a busy machine may take long
forking, inside = threading.Event(), threading.Event()
warnings.filterwarnings("ignore", "This process", DeprecationWarning)  # by Python 3.12
os.register_at_fork(before=forking.set)

def first_runs():
    with forks_wait():
        inside.set()
        forking.wait()
        import asyncio
        given = program(1, 2, 3), [Add(1)]
        asyncio.run(parpass.run_pipeline(*given, workers=0))
        parpass.run_pipeline_sync(*given, context=pooled(), workers=1)
        parpass.run_pipeline_sync(parpass.relay.parse(TEXT), "FuseOps", workers=0)

thread = threading.Thread(target=first_runs)
thread.start()
inside.wait()
child = os.fork()
if not child:
    parpass.run_pipeline_sync(program(1), Add(1), workers=0)
    os._exit(0)
thread.join()
print("done" if os.waitpid(child, 0)[1] == 0 else "failed")
"""


@pytest.mark.slow
def test_no_hook_is_registered_between_the_hooks_of_a_fork_that_waits():
    run_program(WAITED_FOR)


# Forks at random moments of the first run, and of later ones, which a thread makes.
FORKS = """
import faulthandler, os, random, sys, threading, time, warnings
warnings.filterwarnings("ignore", "This process", DeprecationWarning)  # by Python 3.12
import parpass
from parpass import fork_safety
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add

fork_safety.MAX_WAIT_SECONDS = 50.0  # a busy machine may take long
fork_safety._HAND_OVER_SECONDS = 50.0
seed, forks, most_seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
numbers, over = random.Random(seed), threading.Event()
TEXT = "def @f(%x: Tensor[(2), float32]) { add(%x, 1f) }"

def work(workers):
    given = dict(context=pooled(), workers=workers)
    if seed % 4 == 0:  # it takes long to load
        mod = parpass.relay.parse(TEXT)
        made = parpass.run_pipeline_sync(mod, "InferType", **given)
        assert "f" in made.functions_by_name
    made = parpass.run_pipeline_sync(program(1, 2, 3), Add(1), **given)
    assert sorted(values_of(made).values()) == [(2,), (3,), (4,)]

def keep_running():
    while not over.is_set():
        work(1)

thread = threading.Thread(target=keep_running)
thread.start()
children, ended = [], []
for number in range(forks):
    if len(children) > 3:
        ended.append(os.waitpid(children.pop(0), 0)[1])
    time.sleep(numbers.random() * most_seconds / forks)
    workers = 1 if number % 5 == 0 else 0
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(100, exit=True)
        work(workers)
        os._exit(0)
    children.append(child)
ended += [os.waitpid(child, 0)[1] for child in children]
over.set()
thread.join()
assert not any(ended), ended
print("done")
"""


@pytest.mark.slow
def test_a_child_that_is_forked_in_the_midst_of_runs_runs_its_own_and_ends():
    run_program(FORKS, 0, 3, 1.0)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(20))
def test_two_hundred_children_do(seed: int):
    run_program(FORKS, seed, 10, 1.0 + seed % 3, seconds=300)
