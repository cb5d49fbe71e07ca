"""What a function pass may not write to refuses it alike, serial and in workers."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from parpass.errors import ReadOnlyModuleError
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.conftest import RunnerOf
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import Fn, Program, program, values_of

WRITES: dict[str, tuple[Any, ...]] = {
    "__setitem__": ("f0", Fn(())),
    "__delitem__": ("f0",),
    "__ior__": ({},),
    "clear": (),
    "pop": ("f0",),
    "popitem": (),
    "setdefault": ("new", Fn(())),
    "update": ({"f0": Fn(())},),
}


class Writes(FunctionPass):
    """Writes to the functions that it is given to read."""

    pass_info = PassInfo(0, "Writes")

    def __init__(self, how: str) -> None:
        self.how = how

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        getattr(mod.functions, self.how)(*WRITES[self.how])
        return func


def matches_dict(value: object) -> bool:
    match value:
        case dict():
            return True
        case _:
            return False


class Looks(FunctionPass):
    """Appends what can be told of the functions that it is given to read."""

    pass_info = PassInfo(0, "Looks")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        functions: Any = mod.functions
        with contextlib.suppress(AttributeError):
            functions.seen = getattr(functions, "seen", 0) + 1
        found = (
            matches_dict(functions),
            isinstance(functions, dict),
            getattr(functions, "seen", 0),
        )
        told = [*found, len(functions), [*reversed(functions)] == ["f1", "f0"]]
        return func.with_values([*func.values, *map(int, told)])


class Copies(FunctionPass):
    """Appends how many functions its copies have, to which it writes."""

    pass_info = PassInfo(0, "Copies")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        functions: Any = mod.functions
        copies: list[dict[str, Fn]] = [
            *(functions.copy(), dict(functions), functions | {}, {} | functions),
            *(copy.copy(functions), copy.deepcopy(functions)),
            pickle.loads(pickle.dumps(functions)),
        ]
        for one in copies:
            one["new"] = func
        return func.with_values([*func.values, *map(len, copies)])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("how", WRITES)
def test_each_way_to_write_is_refused_with_the_name_of_the_pass(
    how: str, workers: int, runner_of: RunnerOf
):
    with pytest.raises(ReadOnlyModuleError, match="function pass 'Writes' tried to"):
        runner_of(workers).run_sync(program(1, 2), Writes(how), context=pooled())


@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_tells_a_parallel_run_from_a_serial_one(
    workers: int, runner_of: RunnerOf
):
    made = runner_of(workers).run_sync(program(1, 2), Looks(), context=pooled())
    assert values_of(made) == {"f0": (1, 0, 0, 0, 2, 1), "f1": (2, 0, 0, 0, 2, 1)}


class SetsAttribute(FunctionPass):
    """Sets, deletes or reads an attribute of the functions that it is given to read."""

    pass_info = PassInfo(0, "SetsAttribute")

    def __init__(self, how: Callable[..., object], *given: object) -> None:
        self.how = how
        self.given = given

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.how(mod.functions, *self.given)
        return func


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["note", "reader", "reads", "_functions", "_at"])
def test_attributes_are_refused_in_one_text(
    workers: int, name: str, runner_of: RunnerOf
):
    for what, how in {
        "set": SetsAttribute(setattr, name, 1),
        "delete": SetsAttribute(delattr, name),
    }.items():
        with pytest.raises(AttributeError) as caught:
            runner_of(workers).run_sync(program(1, 2), how, context=pooled())
        assert str(caught.value) == (
            f"function pass 'SetsAttribute' tried to {what} attribute '{name}' of the "
            "functions that it was given to read, which take none; keep what is known "
            "of one function in a variable, and what is known of all in an analysis"
        )


@pytest.mark.parametrize("workers", [0, 2])
def test_attributes_that_are_not_there_are_told_in_one_text(
    workers: int, runner_of: RunnerOf
):
    how = SetsAttribute(getattr, "note")
    with pytest.raises(AttributeError) as caught:
        runner_of(workers).run_sync(program(1, 2), how, context=pooled())
    assert str(caught.value) == "the functions of a module have no attribute 'note'"


@pytest.mark.parametrize("workers", [0, 2])
def test_copies_may_be_written_to(workers: int, runner_of: RunnerOf):
    made = runner_of(workers).run_sync(program(1, 2), Copies(), context=pooled())
    assert values_of(made) == {"f0": (1, *[3] * 7), "f1": (2, *[3] * 7)}
