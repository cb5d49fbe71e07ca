"""Where something is missing a run goes on by a slower road, with one warning."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
import types
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from parpass import IRModule, assert_structural_equal
from parpass.errors import RuntimeUseError, SlowerRunWarning, UnpicklablePassWarning
from parpass.runner import Runner, open_runner
from parpass.runner.ipc import shared_dir as store
from parpass.runner.placement import PlacementReason
from parpass.transform import FunctionPass, Sequential, function_pass
from tests.support.runner.large import Doubled, DoubledIfPossible, MakeLarge, weighted
from tests.support.runner.pooled import folders, run_pooled
from tests.support.toy.hard_passes import AppendPid, Lock, Unlock
from tests.support.toy.ir import Fn, program, values_of
from tests.support.toy.passes import Add, AddFrom, Duplicate

# Bytes for a file: enough for a spec, in which is what the tests of this process have
# registered, and not for a constant of that side.
ROOM = 200_000
SIDE_WITHOUT_ROOM = 256


@contextlib.contextmanager
def files_up_to(size: int) -> Generator[None]:
    """Have this process write no larger files, nor those it starts, for good.

    So what runs in the block has a runner of its own. Python cuts bytecode off where
    the limit is, for all processes that import that module later: none is written.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def ran_here(runner: Runner, reason: PlacementReason) -> bool:
    report = runner.last_report
    assert report is not None
    return reason.value in report.here


def test_a_function_that_cannot_be_pickled_is_named_and_the_run_stays_here(
    runner: Runner,
):
    lock: Any = threading.Lock()
    mod = program(1, 2, odd=Fn((lock,), skip=True))
    passes = Sequential([Add(), Duplicate(), Add()])
    with pytest.warns(SlowerRunWarning) as warned:
        found = run_pooled(runner, passes, mod)
    (warning,) = warned
    assert "function 'odd'.values[0]: TypeError: cannot pickle" in str(warning.message)
    assert values_of(found) == values_of(passes(mod))
    assert ran_here(runner, PlacementReason.UNSENDABLE)


def test_a_function_that_becomes_unpicklable_in_a_worker_is_no_error_either(
    runner: Runner,
):
    passes = Sequential([Lock(), Duplicate(), Unlock(), AppendPid()])
    with pytest.warns(SlowerRunWarning, match=r"function 'f\d'\.values\[1\]") as warned:
        found = run_pooled(runner, passes, program(1, 2))
    assert len(warned) == 1
    assert values_of(found) == values_of(passes(program(1, 2)))


def test_the_next_run_uses_the_workers_again(runner: Runner):
    lock: Any = threading.Lock()
    with pytest.warns(SlowerRunWarning):
        run_pooled(runner, Add(), program(1, odd=Fn((lock,), skip=True)))
    pids = values_of(run_pooled(runner, AppendPid(), program(1, 2))).values()
    assert os.getpid() not in {values[-1] for values in pids}


def test_without_shared_memory_the_temporary_folder_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(store, "_SHARED_MEMORY", tmp_path / "none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_runner(workers=1) as runner:
        pids = values_of(run_pooled(runner, AppendPid(), program(1, 2))).values()
        assert len(list(tmp_path.iterdir())) == 1
    assert os.getpid() not in {values[-1] for values in pids}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("elsewhere", ["/proc", "/none"])
def test_where_no_folder_can_be_made_the_run_stays_here(
    monkeypatch: pytest.MonkeyPatch, elsewhere: str
):
    monkeypatch.setattr(store, "_SHARED_MEMORY", Path(elsewhere))
    monkeypatch.setattr(store, "_MIN_FREE_BYTES", -1)
    monkeypatch.setattr("tempfile.tempdir", elsewhere)
    steps = Sequential([Add(), Duplicate(), Add()])
    with open_runner(workers=1) as runner:
        with pytest.warns(
            SlowerRunWarning, match=f"files shared .*{elsewhere}.*TMPDIR"
        ):
            mod = run_pooled(runner, steps, program(1, 2))
        assert ran_here(runner, PlacementReason.NO_ROOM)
    assert values_of(mod)["f0"] == (3,)


@pytest.mark.parametrize("size", [100, 4000, 20_000])
def test_where_room_ends_while_writing_the_run_stays_here(size: int):
    before = folders()
    mod = program(*range(400))
    with (
        files_up_to(size),
        open_runner(workers=2) as runner,
        pytest.warns(SlowerRunWarning, match="no room for files") as warned,
    ):
        found = run_pooled(runner, Sequential([Add(), Duplicate(), Add()]), mod)
    assert len(warned) == 1
    assert values_of(found)["f399"] == (401,)
    assert folders() <= before


@pytest.mark.parametrize("pass_", [Doubled(), DoubledIfPossible()])
def test_where_there_is_no_room_for_constants_the_run_stays_here(pass_: FunctionPass):
    mod = weighted(4, side=SIDE_WITHOUT_ROOM)
    with (
        files_up_to(ROOM),
        open_runner(workers=2) as runner,
        pytest.warns(SlowerRunWarning, match="no room for files"),
    ):
        found = run_pooled(runner, pass_, mod)
    assert_structural_equal(found, pass_(mod))


@pytest.mark.slow
def test_where_a_worker_has_no_room_for_what_it_makes_the_run_stays_here():
    mod: IRModule = weighted(3)
    make_large = MakeLarge(SIDE_WITHOUT_ROOM)
    with (
        files_up_to(ROOM),
        open_runner(workers=2) as runner,
        pytest.warns(SlowerRunWarning, match="no room for files"),
    ):
        found = run_pooled(runner, make_large, mod)
    assert_structural_equal(found, make_large(mod))


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a module that is in no file: it is known here, and nowhere else."""
    module = types.ModuleType("known_here_alone")
    text = """
class Value:
    def __init__(self, number):
        self.number = number
    def __eq__(self, other):
        return isinstance(other, Value) and self.number == other.number
    def __hash__(self):
        return 1

def double(func, mod, ctx):
    return func.with_values(2 * value for value in func.values)
"""
    exec(text, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_a_pass_that_workers_cannot_load_runs_here_and_the_others_there(
    runner: Runner, made_here: Any
):
    own = function_pass(
        cast("Callable[..., Any]", made_here.double), opt_level=0, name="Own"
    )
    passes = Sequential([Add(), own, AppendPid()])
    what = "'Own' cannot be loaded by the workers.*No module named 'known_here_alone'"
    with pytest.warns(UnpicklablePassWarning, match=what) as warned:
        after = run_pooled(runner, passes, program(1, 2, 3, 4))
    assert len(warned) == 1
    numbers, workers = zip(*values_of(after).values(), strict=True)
    assert numbers == (4, 6, 8, 10)
    assert os.getpid() not in workers


@pytest.mark.slow
def test_functions_and_modules_that_workers_cannot_load_have_the_run_stay_here(
    runner: Runner, made_here: Any
):
    odd: Any = made_here.Value(1)
    mods = [program(1, odd=Fn((odd,), skip=True)), replace(program(1, 2), title=odd)]
    for mod, what in zip(mods, ["function 'odd'", "the module"], strict=True):
        match = f"cannot load {what} .*known_here_alone"
        with pytest.warns(SlowerRunWarning, match=match) as warned:
            found = run_pooled(runner, Sequential([Add(), Duplicate(), Add()]), mod)
        assert len(warned) == 1
        assert found == Sequential([Add(), Duplicate(), Add()])(mod)
        assert ran_here(runner, PlacementReason.UNLOADABLE)


@pytest.mark.slow
def test_a_function_that_a_body_asks_for_and_workers_cannot_load_is_no_fault_of_it(
    runner: Runner, made_here: Any
):
    mod = program(1, 2, odd=Fn((made_here.Value(1),), skip=True))
    with pytest.warns(SlowerRunWarning, match="cannot load function 'odd'"):
        found = run_pooled(runner, AddFrom("odd"), mod)
    assert found == AddFrom("odd")(mod)


@pytest.mark.slow
def test_an_isolated_run_does_not_run_here_what_workers_cannot_load(made_here: Any):
    own = function_pass(
        cast("Callable[..., Any]", made_here.double), opt_level=0, name="Own"
    )
    match = "isolated run .* pass 'Own' cannot be loaded by the workers"
    with (
        open_runner(workers=1, isolated=True) as runner,
        pytest.raises(RuntimeUseError, match=match),
    ):
        runner.run_sync(program(1, 2), own)
