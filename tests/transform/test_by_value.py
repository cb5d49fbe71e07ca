"""Values whose code is of modules that other processes cannot import."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from parpass.program_modules import is_by_value
from parpass.transform.by_value import pickle_value
from parpass.transform.code_pickler import dumps
from parpass.transform.code_unpickler import has_code
from tests.support.interleaving import interleaved

NAME = "of_two_files"
CODE = "class Kind: pass\ndef function(): pass\n"


class Paused:
    """Is pickled once the test goes on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __reduce__(self) -> Any:
        self.begun.set()
        assert self.go_on.wait(60)
        return int, ()


def load_by_path(name: str, folder: Path) -> ModuleType:
    """Return a module of the program that no other process finds by its name."""
    file = folder / "hidden" / "loaded.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(CODE)
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = load_by_path(NAME, tmp_path)
    monkeypatch.setitem(sys.modules, NAME, made)
    return made


@contextmanager
def being_pickled(value: Any) -> Generator[Callable[[], bytes]]:
    """Have another thread in the midst of pickling a value; give what ends that."""
    paused, made = Paused(), list[bytes]()
    thread = threading.Thread(target=lambda: made.append(dumps((value, paused))))
    thread.start()
    assert paused.begun.wait(60)

    def end() -> bytes:
        paused.go_on.set()
        thread.join()
        return made[0]

    try:
        yield end
    finally:
        end()


def test_a_module_in_the_place_of_another_goes_as_it_is_found_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / f"{NAME}.py").write_text(CODE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    by_name, by_path = importlib.import_module(NAME), load_by_path(NAME, tmp_path)
    monkeypatch.setitem(sys.modules, NAME, by_name)
    monkeypatch.setitem(sys.modules, "another_one_at_last", ModuleType("another"))
    for module, is_code in [(by_name, False), (by_path, True), (by_name, False)]:
        sys.modules[NAME] = module
        assert is_by_value(NAME) == is_code
        assert has_code(pickle_value((module.Kind,))) == is_code


def test_a_module_under_another_name_goes_as_one_of_that_name(
    hidden: Any, monkeypatch: pytest.MonkeyPatch
):
    assert is_by_value(NAME)
    hidden.__name__ = hidden.Kind.__module__ = "of_another_name"
    monkeypatch.delitem(sys.modules, NAME)
    monkeypatch.setitem(sys.modules, "of_another_name", hidden)
    assert has_code(pickle_value([hidden.Kind()]))


@pytest.mark.parametrize("length", [1, 255, 256, 70_000])
def test_however_long_the_name_of_a_module_is(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    name = "n" * length
    module: Any = load_by_path(name, tmp_path)
    monkeypatch.setitem(sys.modules, name, module)
    assert has_code(pickle_value([module.Kind()]))


def test_what_another_thread_pickles_by_value_goes_by_name_here(hidden: Any):
    """As in a program without parpass."""
    expected = cloudpickle.dumps([hidden.Kind, hidden.function])
    with being_pickled(hidden.Kind) as end:
        assert cloudpickle.dumps([hidden.Kind, hidden.function]) == expected
        assert b"_make_skeleton_class" in end()
    assert cloudpickle.dumps([hidden.Kind, hidden.function]) == expected


def test_two_threads_that_pickle_by_value_do_not_take_that_for_the_programs(
    hidden: Any,
):
    def is_by_value() -> bool:
        return b"_make_skeleton_class" in dumps(hidden.Kind)

    before = cloudpickle.list_registry_pickle_by_value()
    for made in interleaved(lambda: (is_by_value, is_by_value), ["program_modules.py"]):
        assert made == (True, True)
        assert cloudpickle.list_registry_pickle_by_value() == before


def test_what_the_program_registers_while_a_thread_pickles_stays_registered(
    hidden: Any,
):
    for thread_is_first in (True, False):
        with being_pickled(hidden.Kind) as end:
            cloudpickle.register_pickle_by_value(hidden)
            try:
                if thread_is_first:
                    end()
                assert NAME in cloudpickle.list_registry_pickle_by_value()
            finally:
                cloudpickle.unregister_pickle_by_value(hidden)
        assert NAME not in cloudpickle.list_registry_pickle_by_value()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_that_is_forked_while_a_thread_pickles_begins_as_without(hidden: Any):
    expected = cloudpickle.dumps([hidden.Kind, hidden.function])
    with being_pickled(hidden.Kind) as end:
        child = os.fork()
        if not child:
            answer = 1
            try:
                ours = pickle_value((hidden.Kind, hidden.function))
                assert b"_make_skeleton_class" in ours
                assert cloudpickle.dumps([hidden.Kind, hidden.function]) == expected
                answer = 0
            finally:
                os._exit(answer)
        assert os.waitpid(child, 0)[1] == 0
        assert b"_make_skeleton_class" in end()
