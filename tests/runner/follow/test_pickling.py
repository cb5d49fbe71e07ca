from __future__ import annotations

import pickle
import sys
import threading
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from parpass.runner.follow.pickling import (
    find_unpicklable,
    pickle_briefly,
    pickle_by_value,
)
from parpass.transform import PassContext, function_pass
from tests.support.toy.hard_passes import Locked
from tests.support.toy.ir import Fn, Program
from tests.support.toy.passes import Add

LOCK = threading.Lock()


class Rewriter:
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Slotted:
    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.Lock()


class RefusesPickling:
    def __reduce__(self) -> Any:
        raise RuntimeError("not me")


def test_what_is_pickled_briefly_may_have_lambdas_and_closures():
    amount = 3
    assert pickle.loads(pickle_briefly(lambda x: x + amount))(4) == 7  # pyright: ignore[reportUnknownLambdaType] -- a lambda on purpose


class Named:
    """Is pickled by its name, as a table or a mark that there is once."""

    def __reduce__(self) -> str:
        return "NAMED"


def test_what_the_main_script_has_by_its_name_alone_is_told(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(Named, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "NAMED", Named(), raising=False)
    pass_ = Add()
    pass_.part = Named()  # pyright: ignore[reportAttributeAccessIssue] -- a user's own
    assert find_unpicklable(pass_, "p") == (
        "p.part: PicklingError: 'NAMED' is pickled by its name, and workers have "
        "no names of the main script; define it in a module that they can import"
    )


def test_what_can_be_pickled_has_no_reason():
    assert find_unpicklable(Add(), "Add") is None


@pytest.mark.parametrize(
    ("attribute", "path"),
    [
        (Rewriter(), "p.part.lock: TypeError: cannot pickle"),
        (Slotted(), "p.part.lock: TypeError: cannot pickle"),
        ({"a": [1, threading.Lock()]}, "p.part['a'][1]: TypeError: cannot pickle"),
        ((Rewriter(),), "p.part[0].lock: TypeError: cannot pickle"),
        (RefusesPickling(), "p.part: RuntimeError: not me"),
    ],
)
def test_what_cannot_is_named_by_its_path(attribute: Any, path: str):
    pass_ = Add()
    pass_.part = attribute  # pyright: ignore[reportAttributeAccessIssue] -- a user's own
    reason = find_unpicklable(pass_, "p")
    assert reason is not None
    assert reason.startswith(path)


def test_the_lock_in_a_pass_is_found():
    reason = find_unpicklable(Locked(), "Locked")
    assert reason is not None
    assert reason.startswith("Locked.state['lock']: TypeError")


def test_the_variable_of_a_closure_is_named():
    held = threading.Lock()

    @function_pass(opt_level=0)
    def closing(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with held:
            return func

    reason = find_unpicklable(closing, "closing")
    assert reason is not None
    assert reason.startswith("closing.pass_func (its variable 'held'): TypeError")


def test_the_global_of_an_inner_function_is_named(monkeypatch: pytest.MonkeyPatch):
    def outer() -> Any:
        return lambda: LOCK

    monkeypatch.setattr(outer, "__module__", "__main__")
    found = find_unpicklable(outer, "outer")
    assert found is not None
    assert found.startswith("outer (the global 'LOCK'): TypeError")


def test_a_variable_that_has_no_value_yet_is_no_obstacle_to_the_answer():
    held = threading.Lock()

    def closing() -> Any:
        return held, late

    found = find_unpicklable(closing, "closing")
    late = 1
    assert found is not None
    assert found.startswith("closing (its variable 'held')")
    assert closing()[1] == late


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = ModuleType("of_a_program")
    exec("class Kept: pass\ndef called(): return 1", vars(made))
    monkeypatch.setitem(sys.modules, "of_a_program", made)
    return made


def test_classes_and_functions_of_modules_go_by_name(module: Any):
    packed = pickle_by_value((module.Kept, module.called, module.Kept()))
    kind, function, one = pickle.loads(packed)
    assert (kind, function, type(one)) == (module.Kept, module.called, module.Kept)


def test_what_its_module_no_longer_has_goes_by_value(module: Any):
    kind, function = module.Kept, module.called
    del module.Kept
    module.called = None
    here, there = pickle.loads(pickle_by_value((kind, function)))
    assert here.__name__ == "Kept"
    assert there() == 1


def test_modules_that_are_to_go_by_value_do(
    module: Any, monkeypatch: pytest.MonkeyPatch
):
    cloudpickle.register_pickle_by_value(module)
    try:
        packed = pickle_by_value(module.called)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    monkeypatch.delitem(sys.modules, "of_a_program")
    assert pickle.loads(packed)() == 1
