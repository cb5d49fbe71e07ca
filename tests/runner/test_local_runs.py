"""A pass that changes its function in place is seen, or works, as the adapter says."""

from __future__ import annotations

import pytest

from parpass.errors import InputChangedError
from parpass.runner import Runner
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.kinds import OpenProgram
from tests.support.toy.passes import Add

PLACES = {"here": HERE, "at once": {}, "workers": POOLED}


class InPlace(FunctionPass):
    """Adds 100 in place, to numbers from 2 up, and may return a new function."""

    pass_info = PassInfo(0, "InPlace")

    def __init__(self, *, returns_new: bool = False) -> None:
        self.returns_new = returns_new

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        added = tuple(value + 100 * (value > 1) for value in func.values)
        object.__setattr__(func, "values", added)
        return func.with_values((0,)) if self.returns_new else func


@pytest.mark.parametrize("returns_new", [False, True])
@pytest.mark.parametrize("place", [*PLACES, "serially"])
def test_where_it_must_not_be_done_it_is_named(
    runner: Runner, place: str, *, returns_new: bool
):
    root, mod = Sequential([InPlace(returns_new=returns_new)]), program(1, 2)
    with (
        PassContext(config=PLACES.get(place)),
        pytest.raises(InputChangedError, match="changed function 'f1' in") as caught,
    ):
        root(mod) if place == "serially" else runner.run_sync(mod, root)
    assert (caught.value.pass_name, caught.value.function) == ("InPlace", "f1")


@pytest.mark.parametrize("place", [*PLACES, "serially"])
def test_where_it_may_be_done_it_works_and_the_input_stays_as_it_was(
    runner: Runner, place: str
):
    root = Sequential([Add(0), InPlace(), Add(1), InPlace()])
    mod = OpenProgram(program(0, 1, 2).functions)
    with PassContext(config=PLACES.get(place)):
        after = root(mod) if place == "serially" else runner.run_sync(mod, root)
    assert values_of(after) == {"f0": (1,), "f1": (102,), "f2": (203,)}
    assert values_of(mod) == {"f0": (0,), "f1": (1,), "f2": (2,)}


def test_what_is_not_changed_stays_the_same_object():
    mod = OpenProgram(program(1).functions)
    assert InPlace()(mod)["f0"] is mod["f0"]
