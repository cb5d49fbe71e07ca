"""Modules of the program are in the workers as they are here."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import operator
import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from parpass.errors import RuntimeUseError, SlowerRunWarning, UnpicklablePassWarning
from parpass.program_modules import registered_by_value
from parpass.runner import Runner
from parpass.runner.follow.modules import MODULE_TRACKER
from parpass.transform import PassContext, register_adapter
from parpass.transform.debug.locate import load_module
from tests.conftest import RunnerOf
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.probing import seen_in_workers

TEXT = """
from parpass.transform import FunctionPass, PassInfo
from tests.support.toy.ir import Fn

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
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(**{"step": 1, "seen": "STEP", **given}))
        # Each is written at another time, by the clock of the file system.
        os.utime(path, (len(written), len(written)))
        written.append(name.removesuffix("/__init__").replace("/", "."))
        importlib.invalidate_caches()
        return path

    yield write
    for name in written:
        sys.modules.pop(name, None)


def test_a_module_that_was_reloaded_is_reloaded_in_workers(
    runner: Runner, write: Write
):
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


def test_plain_values_that_were_set_in_the_module_of_a_pass_are_set_in_workers(
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


OF_CLASSES = """
from parpass.transform import FunctionPass, PassInfo, function_pass
from tests.support.toy.ir import Fn

class Base(FunctionPass):
    pass_info = PassInfo(0, "Base")
    step = 1
    class Inner:
        pass

class Mine(Base):
    def transform_function(self, func, mod, ctx):
        return Fn((*func.values, (self.step, vars(Mine).get("step"))))

@function_pass(opt_level=0)
class Wrapped:
    step = 1
    def transform_function(self, func, mod, ctx):
        return Fn((*func.values, self.step))
"""


def test_so_are_those_that_were_set_in_its_class_or_a_base_class(
    runner: Runner, write: Write
):
    write("set_six", OF_CLASSES)
    module: Any = importlib.import_module("set_six")
    assert seen_in_workers(runner, module.Mine()) == (1, None)
    module.Base.step = 2
    assert seen_in_workers(runner, module.Mine()) == (2, None)
    module.Mine.step = 3
    assert seen_in_workers(runner, module.Mine()) == (3, 3)
    del module.Mine.step
    assert seen_in_workers(runner, module.Mine()) == (2, None)


def test_so_are_those_of_a_class_that_a_decorator_made_a_pass_of(
    runner: Runner, write: Write
):
    write("set_seven", OF_CLASSES)
    module: Any = importlib.import_module("set_seven")
    made = module.Wrapped()
    for step in 1, 5:
        type(made._inst).step = step
        assert seen_in_workers(runner, made) == step


def test_a_value_that_was_added_to_a_module_and_taken_away_is_taken_away_in_workers(
    runner: Runner, write: Write
):
    write("set_eight", seen="globals().get('ADDED')")
    module: Any = importlib.import_module("set_eight")
    module.ADDED = 1
    assert seen_in_workers(runner, module.Mine()) == 1
    del module.ADDED
    assert seen_in_workers(runner, module.Mine()) is None


ADAPTED = """
from dataclasses import dataclass, field
from parpass.transform import FunctionPass, ModuleAdapter, PassInfo, register_adapter

STEP = 1

@dataclass(frozen=True)
class Program:
    functions: dict = field(default_factory=dict)

class Adapter(ModuleAdapter):
    module_type = Program
    function_type = tuple
    step = 1
    def size(self, function, limit):
        return min(len(function) + 1, limit)
    def is_skipped(self, function):
        return self.step + STEP == function[0]

class ByRepr:
    def fingerprint(self, function):
        return repr(function)
    def to_change(self, function):
        return function

register_adapter(Program, Adapter())
"""

OTHER_PASS = """
from parpass.transform import FunctionPass, PassInfo

class Count(FunctionPass):
    pass_info = PassInfo(0, "Count")
    def transform_function(self, func, mod, ctx):
        return (*func, len(func))
"""


def read_nothing() -> None:
    """Be called in workers, so that they are there."""


def test_plain_values_of_an_adapters_module_and_class_are_set_in_workers(
    runner: Runner, write: Write
):
    write("adapted_nine", ADAPTED)
    write("count_nine", OTHER_PASS)
    module: Any = importlib.import_module("adapted_nine")
    count: Any = importlib.import_module("count_nine").Count()
    mod = module.Program({"f": (2,), "g": (5,), "h": (9,)})
    with registering_for_a_while():
        for step, of_module in [(1, 1), (4, 1), (4, 5), (1, 1)]:
            module.Adapter.step, module.STEP = step, of_module
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert run_pooled(runner, count, mod) == count(mod)


def test_what_is_registered_for_a_class_is_had_by_workers_that_were_there_before(
    runner: Runner, write: Write, tmp_path: Path
):
    """They find its module as it is found here, by a path that is new to them."""
    seen_in_workers(runner, read_nothing)
    (tmp_path / "later").mkdir()
    for name, text in (("adapted_eleven", ADAPTED), ("count_eleven", OTHER_PASS)):
        write(name, text).rename(tmp_path / "later" / f"{name}.py")
    sys.path.insert(0, str(tmp_path / "later"))
    module: Any = importlib.import_module("adapted_eleven")
    count: Any = importlib.import_module("count_eleven").Count()
    mod = module.Program({"f": (2,), "g": (5,), "h": (9,)})
    with registering_for_a_while(), warnings.catch_warnings():
        warnings.simplefilter("error")
        register_adapter(module.Program, module.Adapter())
        assert run_pooled(runner, count, mod) == count(mod)


def test_an_adapter_whose_class_was_given_something_else_keeps_the_run_here(
    runner: Runner, write: Write
):
    write("adapted_ten", ADAPTED)
    write("count_ten", OTHER_PASS)
    module: Any = importlib.import_module("adapted_ten")
    count: Any = importlib.import_module("count_ten").Count()
    mod = module.Program({"f": (2,), "g": (5,), "h": (9,)})
    told = (
        "adapter 'Adapter': expected ByRepr, its value in the process that runs the "
        "pipeline, from 'mutability', got FoundMutability; set it on the adapter, or "
    )
    with registering_for_a_while():
        assert run_pooled(runner, count, mod) == count(mod)
        module.Adapter.mutability = module.ByRepr()
        with pytest.warns(SlowerRunWarning, match=told):
            assert run_pooled(runner, count, mod) == count(mod)
        isolated = PassContext(config={"parpass.isolated": True})
        with pytest.raises(RuntimeUseError, match=told):
            runner.run_sync(mod, count, context=isolated)


def test_a_file_that_changed_and_was_not_reloaded_is_not_loaded_in_workers(
    runner: Runner, write: Write
):
    write("changed_five")
    module: Any = importlib.import_module("changed_five")
    MODULE_TRACKER.state_for()  # sees the module
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


def loaded_by_path(path: Path, name: str) -> Any:
    """Return the module of a file, which is imported by no name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FindsWhatIsLoaded:
    """A finder as some libraries have: it asks again, and so for loaded modules."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        return getattr(sys.modules.get(name), "__spec__", None)


@pytest.mark.parametrize("name", ["plugin_by_path", "no_package.plugin_by_path"])
def test_a_module_that_was_loaded_by_its_path_goes_to_workers_whole(
    name: str, runner: Runner, write: Write, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, FindsWhatIsLoaded])
    path = write(name, step=7)
    monkeypatch.setattr(sys, "path", sys.path[1:])
    module = loaded_by_path(path, name)
    assert seen_in_workers(runner, module.Mine()) == 7
    module.STEP = 8
    assert seen_in_workers(runner, module.Mine()) == 8


def test_so_does_one_that_has_the_name_of_another_file(
    runner: Runner, write: Write, tmp_path: Path
):
    (tmp_path / "other").mkdir()
    other = write("of_two_files", step=7).rename(tmp_path / "other" / "plugin.py")
    write("of_two_files", step=1)
    module = loaded_by_path(other, "of_two_files")
    assert seen_in_workers(runner, module.Mine()) == 7


def test_one_that_replaces_another_goes_whole_and_what_replaces_that_is_imported(
    runner: Runner, write: Write, tmp_path: Path
):
    (tmp_path / "other").mkdir()
    other = write("of_two_in_turn", step=7).rename(tmp_path / "other" / "plugin.py")
    write("of_two_in_turn", step=1)
    by_name: Any = importlib.import_module("of_two_in_turn")
    assert seen_in_workers(runner, by_name.Mine()) == 1
    write("imported_after_two")
    importlib.import_module("imported_after_two")
    by_path = loaded_by_path(other, "of_two_in_turn")
    assert seen_in_workers(runner, by_path.Mine()) == 7
    sys.modules["of_two_in_turn"] = by_name
    assert seen_in_workers(runner, by_name.Mine()) == 1


def test_what_goes_whole_is_put_back_and_what_can_be_imported_does_not(
    write: Write, monkeypatch: pytest.MonkeyPatch
):
    write("importable_by_name")
    importlib.import_module("importable_by_name")
    path = write("not_importable")
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path[1:]])
    before = cloudpickle.list_registry_pickle_by_value()
    with registered_by_value():
        others = set(map(str, cloudpickle.list_registry_pickle_by_value()))
    loaded_by_path(path, "other_name")
    with registered_by_value():
        during = set(map(str, cloudpickle.list_registry_pickle_by_value()))
    assert during - others == {"other_name"}
    assert cloudpickle.list_registry_pickle_by_value() == before


def test_only_modules_of_the_program_are_looked_at(write: Write):
    write("looked_seven")
    module: Any = importlib.import_module("looked_seven")
    code = MODULE_TRACKER.state_for([module.Mine()])
    assert pickle.loads(code.values["looked_seven"])["PAIR"] == (1, "a")
    assert {"looked_seven", __name__} <= code.sources.keys()
    for names in (code.sources, code.values):
        assert not {one.partition(".")[0] for one in names} & {"parpass", "pytest"}


@pytest.fixture
def import_package(write: Write) -> Callable[..., Any]:
    """Give a function that imports a package with a submodule, which it does not."""

    def import_package(name: str, text: str = "") -> Any:
        write(f"{name}/__init__", text)
        write(f"{name}/inner", "VALUE = {step}", step=7)
        return importlib.import_module(name)

    return import_package


def test_a_package_has_a_submodule_from_when_any_module_has_imported_it(
    runner: Runner, write: Write, import_package: Callable[..., Any]
):
    import_package("package_one")
    seen = "package_one.inner.VALUE if hasattr(package_one, 'inner') else None"
    write("naming_one", "import package_one\n" + TEXT, seen=seen)
    module: Any = importlib.import_module("naming_one")
    assert seen_in_workers(runner, module.Mine()) is None
    importlib.import_module("package_one.inner")
    assert seen_in_workers(runner, module.Mine()) == 7


@pytest.mark.parametrize(
    "text", ["", "def __getattr__(name): raise AttributeError(name)"]
)
def test_so_has_one_that_a_pass_keeps_and_one_with_attributes_of_its_own(
    text: str, runner: Runner, import_package: Callable[..., Any]
):
    package = import_package(f"package_two_{len(text)}", text)
    importlib.import_module(f"{package.__name__}.inner")
    inner, no_such = map(operator.attrgetter, ("inner.VALUE", "no_such"))
    assert seen_in_workers(runner, functools.partial(inner, package)) == 7
    assert "no_such" in seen_in_workers(runner, functools.partial(no_such, package))


LAZY = """
def __getattr__(name):
    if name != "inner":
        raise AttributeError(name)
    import importlib
    found = importlib.import_module("package_three.inner").VALUE
    globals()["inner"] = found
    return found
"""


def test_what_a_package_makes_of_the_name_of_a_submodule_is_that_in_workers(
    runner: Runner, write: Write, import_package: Callable[..., Any]
):
    import_package("package_three", LAZY)
    write("naming_three", "import package_three\n" + TEXT, seen="package_three.inner")
    module: Any = importlib.import_module("naming_three")
    assert module.package_three.inner == 7  # and the submodule is loaded
    assert seen_in_workers(runner, module.Mine()) == 7


def test_a_submodule_that_workers_cannot_import_keeps_the_run_here(
    runner: Runner, write: Write, import_package: Callable[..., Any]
):
    import_package("package_four")
    seen = "getattr(package_four, 'inner', None) and package_four.inner.VALUE"
    write("naming_four", "import package_four\n" + TEXT, seen=seen)
    module: Any = importlib.import_module("naming_four")
    importlib.import_module("package_four.inner")
    MODULE_TRACKER.state_for()  # sees it
    write("package_four/inner", "VALUE = {step}", step=4444)
    told = "'package_four.inner' has changed since it was loaded; reload it"
    with pytest.warns(SlowerRunWarning, match=told):
        mod = run_pooled(runner, module.Mine(), program(1, 2))
    assert values_of(mod) == {"f0": (1, 7), "f1": (2, 7)}


def test_an_error_of_a_name_that_a_package_lacks_is_printed_as_here(
    runner: Runner, write: Write, import_package: Callable[..., Any]
):
    import_package("package_five")
    write("naming_five", "import package_five\n" + TEXT, seen="package_five.no_such")
    module: Any = importlib.import_module("naming_five")

    def printed(run: Callable[..., Any], *args: Any) -> str:
        with pytest.raises(AttributeError) as caught:
            run(*args)
        text = "".join(traceback.format_exception(caught.value))
        return text[text.index("in transform_function") :]

    mod = program(1, 2)
    parallel = printed(run_pooled, runner, module.Mine(), mod)
    assert parallel == printed(module.Mine(), mod)


class NotAModule:
    """Has no `__spec__`, nor attributes."""

    __slots__ = ()


def module_without_spec() -> ModuleType:
    module = ModuleType("without_spec")
    del module.__spec__
    return module


STAND_INS = [ModuleType("of_no_file"), module_without_spec(), NotAModule()]


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_a_module_that_is_imported_in_place_of_a_stand_in_is_followed(
    stand_in: Any, runner: Runner, write: Write, monkeypatch: pytest.MonkeyPatch
):
    name = f"in_place_of_{STAND_INS.index(stand_in)}"
    monkeypatch.setitem(sys.modules, name, stand_in)
    assert seen_in_workers(runner, lambda: 1) == 1
    write(name)
    del sys.modules[name]
    module: Any = importlib.import_module(name)
    module.STEP = 5
    assert seen_in_workers(runner, module.Mine()) == 5


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_a_stand_in_for_a_module_that_workers_have_is_no_obstacle(
    stand_in: Any, runner: Runner, write: Write
):
    name = f"stood_in_for_{STAND_INS.index(stand_in)}"
    write(name)
    module: Any = importlib.import_module(name)
    assert seen_in_workers(runner, module.Mine()) == 1
    sys.modules[name] = stand_in
    assert seen_in_workers(runner, lambda: 1) == 1
    sys.modules[name] = module
    module.STEP = 5
    assert seen_in_workers(runner, module.Mine()) == 5
