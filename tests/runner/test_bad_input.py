"""What goes wrong in a parallel run is told clearly, and leaves nothing behind."""

from __future__ import annotations

import functools
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parpass.diagnostic import DiagnosticLevel
from parpass.errors import (
    DiagnosticError,
    PassResultError,
    PassStateWarning,
    ReadOnlyModuleError,
    RuntimeUseError,
    UnpicklablePassWarning,
    WorkerDiedError,
    WorkerError,
)
from parpass.runner import Runner
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    register_config_option,
)
from tests.support.runner.pooled import (
    POOLED,
    comes_down_to,
    folders,
    pooled,
    run_pooled,
    settled_processes,
)
from tests.support.toy.hard_passes import (
    AppendPid,
    Exit,
    ExitOnce,
    Locked,
    Raise,
    Remember,
)
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, FailOn, FailWhole, ReturnWrong, Say, Write
from tests.support.watching import Blind, Log, raising_at

register_config_option("test.anything", object)


class CannotTravel(Exception):  # noqa: N818 -- a user's
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


def cannot_travel() -> Exception:
    return CannotTravel("a b")


@pytest.fixture(autouse=True)
def _nothing_left(runner: Runner) -> Iterator[None]:
    settled_processes()  # one that hung is replaced when it has ended, by a run
    run_pooled(runner, Add(), program(1, 2))  # so that the shared workers are there
    children, before = settled_processes(), folders()
    yield
    assert folders() <= before
    # One that an earlier test has ended may just have been on its way back.
    assert comes_down_to(max(2, len(children)))


def raised(run: Callable[[], Any]) -> Exception:
    """Return what a call raises."""
    try:
        run()
    except Exception as error:  # noqa: BLE001 -- it is looked at
        return error
    raise AssertionError("nothing was raised")


def failed(runner: Runner, *passes: Pass, mod: Program | None = None) -> Exception:
    """Run passes that fail on a pool; return the error, which serial gives, too."""
    given = program(*range(6)) if mod is None else mod
    before = str(given)
    root = Sequential(passes)
    error = raised(lambda: run_pooled(runner, root, given))
    serial = raised(lambda: root(given))
    assert str(given) == before
    if not isinstance(error, WorkerError):
        assert type(error) is type(serial)
        assert str(error) == str(serial)
    assert error.__notes__ == serial.__notes__
    return error


@pytest.mark.parametrize("result", [None, 5, program(1)])
def test_a_result_of_the_wrong_kind(runner: Runner, result: Any):
    error = failed(runner, Add(), ReturnWrong(result))
    assert isinstance(error, PassResultError)
    assert (error.pass_name, error.function) == ("ReturnWrong", "f0")
    assert "must return a Fn for function 'f0', got" in str(error)


def test_writing_to_the_module(runner: Runner):
    error = failed(runner, Write())
    assert isinstance(error, ReadOnlyModuleError)
    assert error.__notes__ == ["in pass 'Write', on function 'f0'"]


def test_an_exception_in_a_worker(runner: Runner):
    error = failed(runner, Add(1), FailOn(4), Add(1))
    assert isinstance(error, ValueError)
    assert error.__notes__ == ["in pass 'FailOn', on function 'f3'"]
    frames = traceback.extract_tb(error.__traceback__)
    assert (frames[-1].name, frames[-1].line) == (
        "transform_function",
        'raise self.error(f"met {self.number}")',
    )


def test_an_exception_that_cannot_travel(runner: Runner):
    error = failed(runner, Raise(cannot_travel))
    assert isinstance(error, WorkerError)
    assert error.original.endswith("CannotTravel: a b")
    assert error.__notes__ == ["in pass 'Raise', on function 'f0'"]


def test_an_exception_in_a_module_pass(runner: Runner):
    error = failed(runner, Add(), FailWhole())
    assert error.__notes__ == ["in pass 'FailWhole'"]


def test_errors_that_a_pass_reports(runner: Runner):
    error = failed(runner, Say(DiagnosticLevel.ERROR), mod=program(1, 2))
    assert isinstance(error, DiagnosticError)
    assert [one.message for one in error.diagnostics] == ["saw 1", "saw 2"]
    assert error.__notes__ == ["in pass 'Say'"]


@pytest.mark.parametrize(
    "hook", ["enter", "should", "before", "after", "failed", "exit"]
)
def test_an_instrument_that_raises(runner: Runner, hook: str):
    mod = program(1, 2)
    root: Pass = FailOn(1) if hook == "failed" else Add()

    def serially(log: Log) -> Any:
        with pooled(instruments=[log]):
            return root(mod)

    def in_parallel(log: Log) -> Any:
        return run_pooled(runner, root, mod, instruments=[log])

    found: list[tuple[type, str, list[str], list[str]]] = []
    for run in (serially, in_parallel):
        log = Log(at=raising_at(hook))
        error = raised(functools.partial(run, log))
        found.append((type(error), str(error), error.__notes__, log.log))
    assert found[0] == found[1]
    assert "fails" in " ".join([found[0][1], *found[0][2]])
    assert values_of(mod) == {"f0": (1,), "f1": (2,)}


def test_the_one_pass_that_cannot_travel_is_named_and_run_here(runner: Runner):
    with pytest.warns(UnpicklablePassWarning) as warned:
        mod = run_pooled(
            runner, Sequential([AppendPid(), Locked(), AppendPid()]), program(*range(8))
        )
    (warning,) = warned
    assert "pass 'Locked' cannot be sent to the workers" in str(warning.message)
    assert "Locked.state['lock']: TypeError" in str(warning.message)
    for _, before, here, after in values_of(mod).values():
        assert here == os.getpid()
        assert os.getpid() not in (before, after)


def test_a_pass_that_writes_to_itself_is_warned_of(runner: Runner):
    root = Remember()
    told = "'Remember' changed its attribute 'last' in a worker"
    with pytest.warns(PassStateWarning, match=told):
        run_pooled(runner, root, program(*range(8)))
    assert not hasattr(root, "last")


class Lazy(FunctionPass):
    """Makes what it needs when it is first wanted, and keeps it."""

    pass_info = PassInfo(0, "Lazy")

    def __init__(self) -> None:
        self.table: dict[int, int] | None = None
        self.bits = 4

    @functools.cached_property
    def mask(self) -> int:
        return (1 << self.bits) - 1

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.bits = int("4")
        if self.table is None:
            self.table = {value: value & self.mask for value in range(100)}
        return func.with_values(self.table[value] for value in func.values)


def test_a_pass_that_keeps_what_it_made_of_its_options_is_not(runner: Runner):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = run_pooled(runner, Lazy(), program(*range(20)))
    assert values_of(mod)["f17"] == (1,)


def test_a_setting_that_cannot_travel_is_named(runner: Runner):
    context = PassContext(config={**POOLED, "test.anything": _Unpicklable()})
    with pytest.raises(RuntimeUseError, match=r"config\['test\.anything'\]: TypeError"):
        runner.run_sync(program(1, 2), Add(), context=context)


class _Unpicklable:
    def __reduce__(self) -> Any:
        raise TypeError("stays here")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signalled", "cause"), [(None, "EXIT(3)"), (signal.SIGSEGV, "SIGSEGV(-11)")]
)
def test_a_function_that_ends_its_worker_is_blamed(
    runner: Runner, signalled: int | None, cause: str
):
    passes = [Add(1), Exit(4, signalled), Add(1)]
    with pytest.raises(WorkerDiedError) as caught:
        run_pooled(
            runner, Sequential(passes), program(*range(8)), instruments=[Blind()]
        )
    error = caught.value
    assert (error.pass_name, error.function) == ("Exit", "f3")
    assert cause in error.cause


@pytest.mark.slow
def test_a_worker_that_died_by_chance_costs_nothing_but_time(
    runner: Runner, tmp_path: Path
):
    passes = [Add(1), ExitOnce(4, str(tmp_path / "died")), Add(1)]
    mod = run_pooled(runner, Sequential(passes), program(*range(30)))
    assert (tmp_path / "died").exists()
    assert values_of(mod) == {f"f{at}": (at + 2,) for at in range(30)}
