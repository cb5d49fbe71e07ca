"""Where a process lacks what is there mostly, a run does without, or stays in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# `told` are the warnings of a parallel run that gave what the serial one does.
PROGRAM = """
import multiprocessing, os, resource, signal, sys, tempfile, warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
import parpass
from parpass.transform import PassInfo, FunctionPass
from tests.support.toy.hard_passes import AppendPid
from tests.support.runner.pooled import folders, pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add

def run(step=Add(1), numbers=(1, 2, 3)):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = parpass.run_pipeline_sync(
            program(*numbers), step, context=pooled(), workers=2)
    assert made == step(program(*numbers)), made
    assert not folders()
    # Where descriptors run out, libraries leave sockets to the collector.
    ours = [one for one in told if one.category is not ResourceWarning]
    return [str(one.message) for one in ours]

def stays_here(because):
    (told,) = run()
    assert "no processes can be started" in told and because in told, told
"""

NO_OUTPUT = """
out = os.dup(1)
sys.stdout = None
stays_here("flush")
os.write(out, b"done\\n")
"""

NO_FOLDER = """
folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)
stays_here(f"the working directory, {folder!r}, is gone; change to one that exists")
print("done")
"""

NO_INTERPRETER = """
sys.executable = "/none/python"
stays_here("there is no program at sys.executable, '/none/python'")
print("done")
"""

FEW_DESCRIPTORS = """
ours = f"*sem*-{os.getpid()}-*"  # others run tests meanwhile
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
for number in (60, 40, 30, 25, 20, 16, 14, 12, 11):
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, most))
    told = run()
    assert len(told) <= 1, told
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
assert run() == []
assert not list(Path("/dev/shm").glob(ours))
print("done")
"""

# The system then ends what is left of processes, and nobody learns how they ended.
NO_NEWS_OF_CHILDREN = """
from parpass.runner.pool import worker_pool
worker_pool._GRACE_SECONDS = 1e6  # who waits so long did not see that they ended
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
assert run() == []
print("done")
"""

CHILDREN = """
class Ask(FunctionPass):
    pass_info = PassInfo(0, "Ask")

    def __init__(self, method, pool):
        self.method, self.pool = method, pool

    def transform_function(self, func, mod, ctx):
        context = multiprocessing.get_context(self.method)
        with context.Pool(1) if self.pool else ProcessPoolExecutor(
                1, mp_context=context) as pool:
            (made,) = pool.map(abs, [-1])
        return func.with_values((made, multiprocessing.get_start_method()))

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of forking where there are threads
    multiprocessing.set_start_method("spawn")
    asked = [Ask(one, True) for one in ("spawn", "fork", "forkserver")]
    for ask in (Ask(None, False), *asked):
        assert [one for one in run(ask, (1,)) if "fork" not in one] == []
    print("done")
"""


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(NO_OUTPUT, id="no_output"),
        pytest.param(NO_FOLDER, id="no_working_directory"),
        pytest.param(NO_INTERPRETER, id="no_interpreter"),
        # Where many tests run at once, which descriptors are left is theirs to say.
        pytest.param(FEW_DESCRIPTORS, id="few_descriptors", marks=pytest.mark.stress),
        pytest.param(NO_NEWS_OF_CHILDREN, id="no_news_of_children"),
        pytest.param(CHILDREN, id="children_of_a_body"),
    ],
)
def test_a_run_gives_what_it_gives_elsewhere(rest: str, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM + rest)
    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=200,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)
