"""A frozen program runs in one process, or is its own workers; never more than asked.

Scripts take the place of frozen programs: they are as them in all that counts. A real
one is in `tests/integrations/pyinstaller`.
"""

from __future__ import annotations

import pickle
import sys
import types
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest

from parpass.runner import NoWorkersError
from parpass.runner.pool.fork_server import has_fork_server
from parpass.runner.worker import frozen
from parpass.runner.worker.frozen import (
    check_program,
    freeze_support,
    frozen_program,
    worker_command,
)
from tests.support.runner.frozen import run_frozen, script

# Prints the number of processes that ran passes, and their hash seeds.
RUN = """
import time, warnings
import parpass
from tests.support.toy.hard_passes import AppendPid
from tests.support.runner.pooled import folders, pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add

def run(workers=2, **settings):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = parpass.run_pipeline_sync(
            program(*range(20)), [Add(1), AppendPid()], context=pooled(),
            workers=workers, **settings)
    pids = {values[-1] for values in values_of(made).values()}
    assert [values[0] for values in values_of(made).values()] == [*range(1, 21)]
    assert not folders()
    return pids, [f"{one.category.__name__}: {one.message}" for one in told]
"""

UNSUPPORTED = """
pids, told = run()
assert pids == {os.getpid()}, pids
(warning,) = told
assert warning.startswith("SlowerRunWarning: no processes can be started (this program "
    "is frozen"), warning
assert "call parpass.freeze_support() first in its main script" in warning
try:
    run(isolated=True)
except parpass.errors.RuntimeUseError as error:
    assert "parpass.freeze_support()" in str(error), error
    print("done")
"""

SUPPORTED = """
if __name__ == "__main__":
    parpass.freeze_support()
    pids, told = run()
    assert told == [], told
    assert os.getpid() not in pids and len(pids) <= 2, pids
    while os.stat(os.environ["STARTS"]).st_size < 3:
        time.sleep(0.01)  # one that is not needed any more may still start
    print("done")
"""

KILLED = """
if __name__ == "__main__":
    parpass.freeze_support()
    with parpass.open_runner(workers=1) as runner:
        made = runner.run_sync(program(1), AppendPid(), context=pooled())
        print("done", flush=True)
        os.kill(os.getpid(), 9)
"""

# Started again it has no arguments, and so does not know that it is a worker.
ASTRAY = """
if sys.argv[1:]:
    parpass.freeze_support()
try:
    run(workers=1)
except parpass.errors.ParpassError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rest", "starts"),
    [
        pytest.param(UNSUPPORTED, 1, id="one_that_does_not_support_it_starts_nothing"),
        pytest.param(SUPPORTED, 3, id="one_that_does_is_two_workers"),
    ],
)
def test_of_a_frozen_program(rest: str, starts: int, tmp_path: Path):
    ran = run_frozen([script(tmp_path, RUN + rest)], tmp_path)
    assert (ran.out, ran.err, ran.code) == ("done\n", "", 0)
    assert ran.starts == starts


@pytest.mark.slow
def test_workers_of_a_frozen_program_end_with_it(tmp_path: Path):
    # They hold its output, so this waits for them.
    ran = run_frozen([script(tmp_path, RUN + KILLED)], tmp_path)
    assert (ran.out, ran.code, ran.starts) == ("done\n", -9, 2)


@pytest.mark.slow
def test_workers_that_do_not_know_what_they_are_start_none_themselves(tmp_path: Path):
    ran = run_frozen([script(tmp_path, RUN + ASTRAY), "argument"], tmp_path)
    assert "the worker processes keep dying before they can begin" in ran.out
    assert ran.starts == 5, "the program, and four attempts"


@pytest.fixture
def as_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(frozen, "_has_support", False)


def compiled(monkeypatch: pytest.MonkeyPatch, **told: object) -> None:
    """Give the main script what Nuitka does."""
    compiled = types.SimpleNamespace(**told)
    monkeypatch.setattr(
        sys.modules["__main__"], "__compiled__", compiled, raising=False
    )


def test_an_interpreter_is_no_frozen_program():
    assert frozen_program() is None
    assert check_program() == sys.executable


@pytest.mark.usefixtures("as_frozen")
def test_what_freezers_set_is_seen():
    assert frozen_program() == sys.executable


def test_a_program_of_nuitka_is_frozen_if_it_needs_no_python(
    monkeypatch: pytest.MonkeyPatch,
):
    compiled(monkeypatch, standalone=False, process_exe="/a/program")
    assert frozen_program() is None
    compiled(monkeypatch, standalone=True, process_exe="/a/program")
    assert frozen_program() == "/a/program"


@pytest.mark.usefixtures("as_frozen")
def test_no_way_to_start_workers_is_left_to_a_frozen_program():
    ours, theirs = Pipe()
    with ours, theirs, pytest.raises(NoWorkersError, match="freeze_support"):
        worker_command(theirs)
    assert not has_fork_server()


@pytest.mark.usefixtures("as_frozen")
def test_a_frozen_program_whose_place_is_not_known_has_no_workers(
    monkeypatch: pytest.MonkeyPatch,
):
    freeze_support()
    monkeypatch.setattr(sys, "executable", None)
    with pytest.raises(
        NoWorkersError, match="no program at the frozen program's path, ''"
    ):
        check_program()


def test_that_there_are_no_workers_is_told_across_processes():
    error = NoWorkersError("none", "there is no program")
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.why, copied.cause, str(copied)) == (
        "none",
        "there is no program",
        "there is no program",
    )
