"""Workers see what a serial run sees, after whatever the program changed meanwhile.

A change is made between two runs; or within one, by a module pass; or by a run inside
of another one, on the same workers.
"""

from __future__ import annotations

import importlib
import importlib.util
import locale
import os
import resource
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import SlowerRunWarning
from parpass.runner import Runner, open_runner
from parpass.runner.follow.modules import MODULE_TRACKER
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.conftest import RunnerOf
from tests.runner import followed
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import Program, program, values_of
from tests.support.toy.probing import Probe, seen_in_workers

Change = Callable[[Path], AbstractContextManager[None]]
VARIABLE = "PARPASS_TEST_FOLLOWS"
_LIMIT = "a limit"


@contextmanager
def _variable(folder: Path) -> Generator[None]:
    os.environ[VARIABLE] = "new"
    yield
    del os.environ[VARIABLE]


@contextmanager
def _search_path(folder: Path) -> Generator[None]:
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


@contextmanager
def _locale(folder: Path) -> Generator[None]:
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "C.UTF-8" if before == "C" else "C")
    yield
    locale.setlocale(locale.LC_ALL, before)


@contextmanager
def _umask(folder: Path) -> Generator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@contextmanager
def _limit(folder: Path) -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1 if soft > 0 else 4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def _global(folder: Path) -> Generator[None]:
    before, followed.level = followed.level, followed.level + 1
    yield
    followed.level = before


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


CHANGES: dict[str, tuple[Change, Callable[[], Any]]] = {
    "a variable of the environment": (_variable, lambda: os.environ.get(VARIABLE)),
    "the working directory": (chdir, os.getcwd),
    "the search path": (_search_path, lambda: list(sys.path)),
    "the locale": (_locale, lambda: locale.setlocale(locale.LC_ALL)),
    "the mask of new files": (_umask, _mask),
    _LIMIT: (_limit, lambda: resource.getrlimit(resource.RLIMIT_NOFILE)),
    # `Probe` is of another module.
    "a global of a module": (
        _global,
        lambda: importlib.import_module("tests.runner.followed").level,
    ),
}
each_change = pytest.mark.parametrize(
    "what",
    # For that one workers are replaced, which takes as long as to start them.
    [pytest.param(one, marks=[pytest.mark.slow] * (one == _LIMIT)) for one in CHANGES],
)


@pytest.fixture
def warm(runner_of: RunnerOf) -> Runner:
    """Give a runner with one worker that has run a pass."""
    runner = runner_of(1)
    assert seen_in_workers(runner, lambda: 1) == 1
    return runner


@each_change
def test_what_changes_between_two_runs_is_seen_and_so_is_that_it_changes_back(
    what: str, warm: Runner, tmp_path: Path
):
    change, read = CHANGES[what]
    before = seen_in_workers(warm, read)
    with change(tmp_path):
        assert seen_in_workers(warm, read) != before
    assert seen_in_workers(warm, read) == before


class Changing(ModulePass):
    """Makes a change, to be undone by `undo`, and perhaps runs a pass inside of it."""

    pass_info = PassInfo(0, "Change")

    def __init__(self, change: AbstractContextManager[None]) -> None:
        self.change = change
        self.stack = ExitStack()

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        self.stack.enter_context(self.change)
        return mod


def _changed_within(
    what: str, tmp_path: Path, run: Callable[[Sequential, Program], Program]
) -> dict[str, Any]:
    """Return what is seen before and after a module pass makes a change."""
    change, read = CHANGES[what]
    changing = Changing(change(tmp_path))
    root = Sequential([Probe(read), changing, Probe(read)])
    with changing.stack:
        return values_of(run(root, program(1, 2, 3, 4)))


@each_change
def test_what_a_module_pass_changes_is_seen_by_the_passes_after_it(
    what: str, warm: Runner, tmp_path: Path
):
    serial = _changed_within(what, tmp_path, lambda root, mod: root(mod))
    parallel = _changed_within(
        what, tmp_path, lambda root, mod: run_pooled(warm, root, mod)
    )
    assert parallel == serial
    (first, *_) = serial.values()
    assert first[-1] != first[-2]


class RunInside(ModulePass):
    """Runs a pass on the same workers under a change, which it takes back."""

    pass_info = PassInfo(0, "RunInside")

    def __init__(
        self,
        change: AbstractContextManager[None],
        run: Callable[[Program], Program],
    ) -> None:
        self.change, self.run = change, run

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        with self.change:
            return self.run(mod)


@each_change
def test_two_runs_under_way_at_once_on_one_worker_each_see_their_own(
    what: str, warm: Runner, tmp_path: Path
):
    change, read = CHANGES[what]
    probe, mod = Probe(read), program(1, 2, 3, 4)

    def both(run: Callable[[Any, Program], Program]) -> dict[str, Any]:
        inner = RunInside(change(tmp_path), lambda mod: run(probe, mod))
        return values_of(run(Sequential([probe, inner, probe]), mod))

    serial = both(lambda root, mod: root(mod))
    assert both(lambda root, mod: run_pooled(warm, root, mod)) == serial
    (first, *_) = serial.values()
    assert first[-1] == first[-3] != first[-2]


HELPER = "VALUE = {value}\nTABLE = [VALUE]\n"
USER = """
from parpass.transform import FunctionPass, PassInfo
import parpass_test_helper as helper

class Read(FunctionPass):
    pass_info = PassInfo(0, "Read")
    def transform_function(self, func, mod, ctx):
        import parpass_test_late as late
        return func.with_values((*func.values, helper.VALUE, late.VALUE, late.TABLE))
"""
NAMES = "parpass_test_helper", "parpass_test_late", "parpass_test_user"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Give two modules of values, and one of a pass that reads them."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    texts = HELPER.format(value=1), HELPER.format(value=2), USER
    for name, text in zip(NAMES, texts, strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    yield [importlib.import_module(name) for name in NAMES]
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_values_set_in_modules_that_a_pass_imports_or_only_its_body_does_are_seen(
    modules: list[Any],
):
    helper, late, user = modules
    helper.VALUE, late.VALUE = 10, 20
    with open_runner(workers=1) as runner:  # it imports them after they were set
        assert seen_in_workers(runner, user.Read()) == [2]
        helper.VALUE = late.VALUE = 30
        assert seen_in_workers(runner, user.Read()) == [2]


def test_a_body_finds_data_beside_a_module_that_its_worker_has_not_imported(
    modules: list[Any], warm: Runner
):
    data = Path(modules[0].__file__).parent / "parpass_test_data.txt"
    data.write_text("7")

    def read() -> bytes | None:
        found = importlib.util.find_spec("parpass_test_helper")
        assert found is not None
        loader: Any = found.loader
        return loader.get_data(str(data))

    assert seen_in_workers(warm, read) == b"7"


def test_a_file_that_changed_after_its_module_was_reloaded_is_not_loaded_in_workers(
    modules: list[Any], warm: Runner
):
    _, late, user = modules
    assert seen_in_workers(warm, user.Read()) == [2]
    path = Path(late.__file__)
    path.write_text(HELPER.format(value=333))
    importlib.reload(late)
    MODULE_TRACKER.state_for()  # sees it, and no worker does
    path.write_text(HELPER.format(value=4444))
    mod = program(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowerRunWarning)
        assert run_pooled(warm, user.Read(), mod) == user.Read()(mod)


@pytest.mark.slow
def test_a_body_that_imports_a_file_that_has_changed_runs_here(modules: list[Any]):
    _, late, user = modules
    MODULE_TRACKER.state_for()  # sees it
    Path(late.__file__).write_text(HELPER.format(value=4444))
    mod = program(1, 2)
    told = "'parpass_test_late' has changed since it was loaded; reload it"
    with (
        open_runner(workers=1) as runner,
        pytest.warns(SlowerRunWarning, match=told),
    ):
        assert run_pooled(runner, user.Read(), mod) == user.Read()(mod)
