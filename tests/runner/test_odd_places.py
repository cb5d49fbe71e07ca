"""Pipelines run where nobody thought of it, and run as everywhere else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import zipapp
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbclient
import pytest
import trio
from nbformat import v4

import parpass
from parpass.runner import Runner
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
)
from tests.support.runner.pooled import folders, pooled, run_pooled
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# Passes of the program itself: workers cannot import them.
PROGRAM = """
import os, sys, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded")
import parpass
from parpass.transform import FunctionPass, PassInfo
from tests.support.runner.pooled import pooled, settled_processes
from tests.support.toy.ir import program

class Where(FunctionPass):
    pass_info = PassInfo(0, "Where")

    def transform_function(self, func, mod, ctx):
        return func.with_values((*func.values, os.getpid()))

def places(mod):
    return {function.values[-1] for function in mod.functions.values()}

def run(runner=parpass):
    sync = getattr(runner, "run_sync", None)
    if sync is not None:
        return places(sync(program(1, 2, 3), Where(), context=pooled()))
    return places(parpass.run_pipeline_sync(
        program(1, 2, 3), Where(), context=pooled(), workers=2))

def main():
    found = run()
    assert found and os.getpid() not in found, (found, os.getpid())
    print("done")
"""
MAIN = PROGRAM + "\nif __name__ == '__main__':\n    main()\n"

OWN_IR = """
import dataclasses
from collections.abc import Mapping

import parpass
from parpass.transform import (
    FunctionPass, ModuleAdapter, PassContext, PassInfo, register_adapter)

GREETING = "well"

@dataclasses.dataclass(frozen=True)
class Fn:
    text: str
    def greeted(self):
        return Fn(f"{GREETING} {self.text}")

@dataclasses.dataclass(frozen=True)
class Program:
    functions: Mapping[str, Fn]

class Adapter(ModuleAdapter):
    module_type = Program
    function_type = Fn
    def size(self, function, limit):
        return 1

register_adapter(Program, Adapter())

class Greet(FunctionPass):
    pass_info = PassInfo(0, "Greet")
    def transform_function(self, func, mod, ctx):
        assert mod.functions["a"] is not None
        return func.greeted()

if __name__ == "__main__":
    given = Program({name: Fn(name) for name in "abcd"})
    reports = []
    context = PassContext(config={"parpass.asking_workers_seconds": 0.0})
    with parpass.open_runner(workers=2) as runner:
        made = runner.run_sync(
            given, [Greet(), Greet()], context=context, report=reports.append)
        made = runner.run_sync(made, Greet(), context=context, report=reports.append)
    assert made == Program({name: Fn(f"well well well {name}") for name in "abcd"})
    assert type(made) is Program
    assert type(made.functions["a"]) is Fn
    assert Fn.greeted.__globals__ is globals()
    assert all(one.busy > 0 for one in reports)
    print("done")
"""

OPTIONS = """
NEW = "context_aware_warnings", "thread_inherit_context"  # from Python 3.14 on

class Options(FunctionPass):
    pass_info = PassInfo(0, "Options")

    def transform_function(self, func, mod, ctx):
        flags = sys.flags
        told = [flags.optimize, flags.utf8_mode, flags.dev_mode]
        told += [flags.warn_default_encoding, *(getattr(flags, one, 0) for one in NEW)]
        return func.with_values(map(int, told))

serial = Options()(program(1, 2, 3))
for settings in {"context": pooled()}, {"isolated": True}:
    made = parpass.run_pipeline_sync(program(1, 2, 3), Options(), **settings, workers=1)
    if made != serial:  # nothing is asserted under -O
        sys.exit(f"{made} {serial}")
print("done")
"""

FILTERS_OF_A_CONTEXT = """
class Warn(FunctionPass):
    pass_info = PassInfo(0, "Warn")

    def transform_function(self, func, mod, ctx):
        warnings.warn("shown", DeprecationWarning)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.warn("recorded")
        assert len(told) == 1, told
        return func.with_values((*func.values, os.getpid()))

told = []
warnings.showwarning = lambda message, *_: told.append(str(message))

def told_in(where):
    told.clear()
    try:
        where()
    except DeprecationWarning as error:
        told.append(repr(error))
    return [*told]

for action in "always", "ignore", "error":
    warnings.simplefilter(action)
    here = told_in(lambda: Warn()(program(1, 2, 3)))
    there = told_in(lambda: parpass.run_pipeline_sync(
        program(1, 2, 3), Warn(), context=pooled(), workers=1))
    assert there == here, (action, here, there)
print("done")
"""

REMOTE_SCRIPT = """
import pathlib, signal, tempfile, threading

class Wait(FunctionPass):
    pass_info = PassInfo(0, "Wait")

    def transform_function(self, func, mod, ctx):
        begun.write_bytes(b"begun")
        return func.with_values((*func.values, int(sent.read_bytes()), os.getpid()))

def send():
    begun.read_bytes()
    sys.remote_exec(os.getpid(), script)
    # Wakes the main thread, which waits for the worker.
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

signal.signal(signal.SIGUSR1, lambda *_: None)
with tempfile.TemporaryDirectory() as folder:
    begun, sent, script = (pathlib.Path(folder, one) for one in ("begun", "sent", "it"))
    os.mkfifo(begun)
    os.mkfifo(sent)
    script.write_text(f"import pathlib; pathlib.Path({str(sent)!r}).write_bytes(b'7')")
    threading.Thread(target=send).start()
    made = parpass.run_pipeline_sync(program(1), Wait(), context=pooled(), workers=1)
    assert os.getpid() not in places(made)
    assert [one.values[:2] for one in made.functions.values()] == [(1, 7)]
print("done")
"""

# Before Python 3.15 nothing is lazy here.
LAZY_IMPORT = """
__lazy_modules__ = ["xml.etree.ElementTree"]
import xml.etree.ElementTree

class Parse(FunctionPass):
    pass_info = PassInfo(0, "Parse")

    def transform_function(self, func, mod, ctx):
        tag = xml.etree.ElementTree.fromstring("<abc/>").tag
        return func.with_values((*func.values, len(tag)))

made = parpass.run_pipeline_sync(
    program(1, 2, 3), [Parse(), Where()], context=pooled(), workers=1)
assert os.getpid() not in places(made)
assert {one.values[1] for one in made.functions.values()} == {3}
print("done")
"""

# What only code within a pass names of a package is loaded by no worker on its own.
SUBMODULES = """
import wsgiref.headers, wsgiref.util, wsgiref.validate, xml.dom.minidom
import xml.sax.saxutils

def around(module):
    return lambda: module.sax.saxutils.escape("<").count(";")

class Use(FunctionPass):
    pass_info = PassInfo(0, "Use")
    escaped = staticmethod(around(xml))

    def transform_function(self, func, mod, ctx, servers=wsgiref):
        def inner():
            return xml.dom.minidom.parseString("<a/>").documentElement.tagName
        class Nested:
            shifted = staticmethod(lambda: wsgiref.util.guess_scheme({}))
        [valid] = [servers.validate.validator.__name__ for _ in "a"]
        made = [inner(), Nested.shifted(), valid, *(
            str(wsgiref.headers.Headers([])) for _ in "a")]
        values = *func.values, *map(len, made), self.escaped()
        return func.with_values(values)

serial = Use()(program(1, 2, 3))
made = parpass.run_pipeline_sync(
    program(1, 2, 3), Use(), context=pooled(), workers=1)
assert made == serial, (made, serial)
print("done")
"""

FORKED = """
with parpass.open_runner(workers=2) as runner:
    ours = run(runner)
    child = os.fork()
    if not child:
        theirs, again = run(runner), run(runner)
        assert not (theirs | again) & (ours | {os.getpid()}), (theirs, ours)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert os.getpid() not in run(runner)
print("done")
"""

FORKED_WITHOUT_A_WORD = """
with parpass.open_runner(workers=2) as runner:
    run(runner)
    ours = settled_processes()
    child = os.fork()
    if not child:
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert run(runner) <= ours
print("done")
"""

DAEMON = """
import multiprocessing

def in_daemon(answers):
    import warnings
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = run()
    answers.send((found, os.getpid(), [str(one.message) for one in told]))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    answers, theirs = context.Pipe(duplex=False)
    process = context.Process(target=in_daemon, args=(theirs,), daemon=True)
    process.start()
    found, pid, told = answers.recv()
    process.join(150)
    assert process.exitcode == 0, process.exitcode
    assert found == {pid}, found
    assert any("daemon" in text for text in told), told
    print("done")
"""


def run_program(command: Sequence[str], cwd: Path = ROOT) -> None:
    """Run a program; it says that it is done, and leaves nothing."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    try:
        out, err = process.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    assert (out, process.returncode, err) == ("done\n", 0, "")
    assert not folders(process.pid)


def test_a_program_given_on_the_command_line():
    run_program([sys.executable, "-c", PROGRAM + "\nmain()"])


_OTHERS = [
    *(["-OO"], ["-X", "utf8"], ["-X", "dev"], ["-X", "warn_default_encoding"]),
    *(["-X", "context_aware_warnings=1"], ["-X", "thread_inherit_context=1"]),
]


@pytest.mark.parametrize(
    "options",
    [
        ["-O"],
        [word for options in _OTHERS for word in options],
        *(pytest.param(options, marks=pytest.mark.stress) for options in _OTHERS),
    ],
    ids=" ".join,
)
def test_options_of_the_interpreter_are_those_of_the_workers(options: list[str]):
    run_program([sys.executable, *options, "-c", PROGRAM + OPTIONS])


def test_a_module_that_is_run_as_a_program(tmp_path: Path):
    (tmp_path / "compile_it.py").write_text(MAIN)
    run_program([sys.executable, "-m", "compile_it"], cwd=tmp_path)


def test_filters_of_the_process_hold_where_others_are_of_a_context():
    options = ["-X", "context_aware_warnings=1"]
    run_program([sys.executable, *options, "-c", PROGRAM + FILTERS_OF_A_CONTEXT])


def test_a_pass_whose_inner_code_names_submodules():
    run_program([sys.executable, "-c", PROGRAM + SUBMODULES])


def test_a_program_whose_imports_are_lazy():
    run_program([sys.executable, "-c", PROGRAM + LAZY_IMPORT])


def test_a_zipapp(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "__main__.py").write_text(MAIN)
    zipapp.create_archive(source, tmp_path / "it.pyz")
    run_program([sys.executable, str(tmp_path / "it.pyz")])


def test_a_program_without_standard_input():
    shell = 'exec "$0" -c "$1" <&-'
    run_program(["/bin/sh", "-c", shell, sys.executable, PROGRAM + "\nmain()"])


@pytest.mark.parametrize("rest", [FORKED, FORKED_WITHOUT_A_WORD])
def test_a_forked_child_leaves_the_processes_of_its_parent_alone(rest: str):
    run_program([sys.executable, "-c", PROGRAM + rest])


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_a_daemon_process_stays_in_process_and_says_so(start: str, tmp_path: Path):
    script = tmp_path / "daemon.py"
    script.write_text(PROGRAM + DAEMON)
    run_program([sys.executable, str(script), start])


@pytest.mark.skipif(sys.version_info < (3, 14), reason="no sys.remote_exec")
def test_a_script_that_is_sent_to_the_program_leaves_its_run_alone():
    run_program([sys.executable, "-c", PROGRAM + REMOTE_SCRIPT])


@pytest.mark.skipif(sys.version_info < (3, 14), reason="asyncio has no call graph")
def test_the_call_graph_of_asyncio_has_a_run_and_leaves_it_alone():
    names: set[str] = set()

    async def look() -> Program:
        run = parpass.run_pipeline(program(1, 2), Add(1), context=pooled(), workers=1)
        task = asyncio.ensure_future(run)
        while not task.done():
            graph: Any = vars(asyncio)["capture_call_graph"](task)
            names.update(one.frame.f_code.co_name for one in graph.call_stack)
            await asyncio.sleep(0)
        return await task

    assert asyncio.run(look()) == Add(1)(program(1, 2))
    assert "run_pipeline" in names


def test_a_notebook(tmp_path: Path):
    cells = [f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{PROGRAM}", "main()"]
    cells.append(
        "places(await parpass.run_pipeline("
        "program(1, 2), [Where()], context=pooled(), workers=2)) - {os.getpid()} != "
        "set()"
    )
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=200, kernel_name="python3").execute()
    assert notebook.cells[1].outputs[0]["text"] == "done\n"
    assert notebook.cells[2].outputs[0]["data"]["text/plain"] == "True"


class RunWhole(ModulePass):
    """Runs a pipeline inside of a module pass, on processes of its own."""

    pass_info = PassInfo(0, "RunWhole")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return parpass.run_pipeline_sync(mod, Add(10), workers=2)


class RunInside(FunctionPass):
    """Runs a pipeline inside of a function pass."""

    pass_info = PassInfo(0, "RunInside")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        inner = Sequential([Add(10), Add(20)])
        made = parpass.run_pipeline_sync(Program({"f": func}), inner, workers=2)
        return made["f"]


@pytest.mark.parametrize("root", [RunWhole(), RunInside()])
def test_a_run_inside_of_a_run(runner: Runner, root: Pass):
    both = Sequential([Add(1), root, Add(2)])
    assert run_pooled(runner, both, program(1, 2, 3)) == both(program(1, 2, 3))


def test_many_runs_at_once_on_one_runner_from_threads(runner: Runner):
    with ThreadPoolExecutor(8) as threads:
        made = [
            threads.submit(run_pooled, runner, Add(at), program(*range(9)))
            for at in range(24)
        ]
    for at, one in enumerate(made):
        assert one.result() == Add(at)(program(*range(9)))


def test_many_runs_at_once_on_many_runners_from_threads():
    def run(at: int) -> Program:
        return parpass.run_pipeline_sync(
            program(*range(9)), Add(at), context=pooled(), workers=1
        )

    before = folders()
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(run, range(4)))
    assert made == [Add(at)(program(*range(9))) for at in range(4)]
    assert folders() <= before


async def test_many_runs_at_once_on_one_runner_from_tasks(runner: Runner):
    made: dict[int, Program] = {}

    async def run(at: int) -> None:
        made[at] = await runner.run(program(*range(9)), Add(at), context=pooled())

    async with trio.open_nursery() as nursery:
        for at in range(24):
            nursery.start_soon(run, at)
    for at, one in made.items():
        assert one == Add(at)(program(*range(9)))
    assert len(made) == 24


def test_a_thread_that_nobody_waits_for(runner: Runner):
    made: list[str] = []

    def run() -> None:
        result = run_pooled(runner, Add(1), program(1, 2))
        made.append(json.dumps([fn.values for fn in result.functions.values()]))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert made == ["[[2], [3]]"]


@pytest.mark.slow
def test_an_ir_may_be_in_the_main_module(tmp_path: Path):
    program = tmp_path / "own.py"
    program.write_text(OWN_IR)
    run_program([sys.executable, "-W", "error", str(program)])
