"""Modules of the program are in the workers as they are here."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import UnpicklablePassWarning
from parpass.runner import Runner
from parpass.runner.travel.reloading import MODULES, modules_of
from parpass.transform.debug.origin import load_module
from tests.conftest import RunnerOf
from tests.support.pooled import run_pooled
from tests.support.probing import seen_in_workers
from tests.support.toy_ir import program, values_of

TEXT = """
from parpass.transform import FunctionPass, PassInfo
from tests.support.toy_ir import Fn

STEP = {step}
PAIR = (1, "a")

class Mine(FunctionPass):
    pass_info = PassInfo(0, "Mine")

    def transform_function(self, func, mod, ctx):
        return Fn((*func.values, {seen}))
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Give a function that writes a module with a pass."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    written: list[str] = []

    def write(name: str, text: str = TEXT, **given: Any) -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(text.format(**{"step": 1, "seen": "STEP", **given}))
        # Each is written at another time, by the clock of the file system.
        os.utime(path, (len(written), len(written)))
        written.append(name)
        importlib.invalidate_caches()
        return path

    yield write
    for name in written:
        sys.modules.pop(name, None)


def test_a_module_that_was_reloaded_is_reloaded_there(runner: Runner, write: Write):
    write("reloaded_one")
    module: Any = importlib.import_module("reloaded_one")
    assert seen_in_workers(runner, module.Mine()) == 1
    write("reloaded_one", seen="'new'")
    importlib.reload(module)
    assert seen_in_workers(runner, module.Mine()) == "new"
    write("reloaded_one", seen="'newer'")
    importlib.reload(module)
    assert seen_in_workers(runner, module.Mine()) == "newer"


def test_so_is_one_that_it_imports_from_and_that_was_reloaded_first(
    runner: Runner, write: Write
):
    write("imported_two", "VALUE = {step}")
    top = "from imported_two import VALUE\n" + TEXT
    write("importing_two", top, seen="VALUE")
    importing: Any = importlib.import_module("importing_two")
    assert seen_in_workers(runner, importing.Mine()) == 1
    write("imported_two", "VALUE = {step}", step="[2]")
    importlib.reload(sys.modules["imported_two"])
    importlib.reload(importing)
    assert seen_in_workers(runner, importing.Mine()) == [2]


def test_one_that_was_imported_anew_keeps_nothing_of_the_old(
    runner: Runner, write: Write
):
    write("anew_three", TEXT + "OLD = 1\n")
    seen = "globals().get('OLD')"
    write("anew_three", TEXT + "OLD = 1\n", seen=seen)
    module: Any = importlib.import_module("anew_three")
    assert seen_in_workers(runner, module.Mine()) == 1
    write("anew_three", seen=seen)
    del sys.modules["anew_three"]
    module = importlib.import_module("anew_three")
    assert seen_in_workers(runner, module.Mine()) is None


def test_plain_values_that_were_set_in_the_module_of_a_pass_are_set_there(
    runner: Runner, write: Write
):
    write("set_four", seen="(STEP, PAIR)")
    module: Any = importlib.import_module("set_four")
    assert seen_in_workers(runner, module.Mine()) == (1, (1, "a"))
    module.STEP, module.PAIR = 100, (None, 2.5)
    assert seen_in_workers(runner, module.Mine()) == (100, (None, 2.5))


def test_a_plain_value_that_is_equal_to_what_it_was_is_set_if_it_is_another_one(
    runner_of: RunnerOf, write: Write
):
    runner = runner_of(1)
    write("set_five", seen="repr((STEP, PAIR))")
    module: Any = importlib.import_module("set_five")
    for step, pair in [
        (1, (1,)),
        (True, (True,)),
        (1.0, (1.0,)),
        (0.0, ()),
        (-0.0, ()),
    ]:
        module.STEP, module.PAIR = step, pair
        assert seen_in_workers(runner, module.Mine()) == repr((step, pair))


def test_a_file_that_changed_and_was_not_reloaded_is_not_loaded_there(
    runner: Runner, write: Write
):
    write("changed_five")
    module: Any = importlib.import_module("changed_five")
    MODULES.code_of([])  # sees the module
    write("changed_five", step="'unseen'")
    what = "changed since it was loaded; reload it"
    with pytest.warns(UnpicklablePassWarning, match=what) as warned:
        mod = run_pooled(runner, module.Mine(), program(1, 2))
    assert len(warned) == 1
    assert values_of(mod) == {"f0": (1, 1), "f1": (2, 1)}
    importlib.reload(module)
    assert seen_in_workers(runner, module.Mine()) == "unseen"


def test_workers_that_loaded_it_before_it_changed_go_on(
    runner_of: RunnerOf, write: Write
):
    runner = runner_of(1)
    write("changed_six")
    module: Any = importlib.import_module("changed_six")
    assert seen_in_workers(runner, module.Mine()) == 1
    write("changed_six", step=2)
    assert seen_in_workers(runner, module.Mine()) == 1


def test_a_file_that_was_loaded_is_not_taken_for_another_of_its_name_in_the_path(
    runner: Runner, write: Write, tmp_path: Path
):
    folder = tmp_path / "of_the_user"
    folder.mkdir()
    write("loaded_six").rename(folder / "loaded_six.py")
    module = load_module(str(folder / "loaded_six.py"))
    write("loaded_six", seen="'of the path'")
    assert seen_in_workers(runner, module.Mine()) == 1


def test_only_modules_of_the_program_are_looked_at(write: Write):
    write("looked_seven")
    module: Any = importlib.import_module("looked_seven")
    code = MODULES.code_of([module.Mine()])
    assert "looked_seven" in modules_of(module.Mine())
    assert [list(one) for one in code.sources] == [["looked_seven"]]
    assert code.values["looked_seven"]["PAIR"] == (1, "a")
    assert not any(name.startswith("parpass.") for name in code.values)
