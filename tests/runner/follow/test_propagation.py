from __future__ import annotations

import contextlib
import contextvars
import copyreg
import pickle
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
import trio

from parpass.errors import RuntimeUseError
from parpass.runner import Runner, propagate
from parpass.runner.follow.pickling import pickle_by_value
from parpass.runner.follow.propagation import propagated_values, setting_contextvars
from parpass.transform import PassContext
from tests.support.runner.pooled import pooled, run_pooled
from tests.support.toy.hard_passes import AppendPropagated, SetPropagated, propagated
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = {propagated.name: propagated}
    monkeypatch.setattr("parpass.runner.follow.propagation._registered", registered)
    monkeypatch.setattr("parpass.runner.follow.propagation._placeholders", {})


def _named_late() -> bytes:
    """Return what a pass that refers to a variable `late` is sent with."""
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setattr("parpass.runner.follow.propagation._registered", {})
        return pickle_by_value(propagate(ContextVar[int]("late")))


def in_fresh_context(function: Callable[[], Any]) -> Any:
    return contextvars.copy_context().run(function)


def test_propagate_returns_the_variable_and_may_be_called_again():
    var = ContextVar[int]("once")
    assert propagate(propagate(var)) is var


def test_two_variables_of_one_name_clash():
    propagate(ContextVar[int]("same"))
    with pytest.raises(RuntimeUseError, match=r"another contextvar named 'same'"):
        propagate(ContextVar[int]("same"))


def test_values_and_defaults_are_sent_and_unset_variables_are_not():
    set_, default = ContextVar[int]("set"), ContextVar("default", default=5)
    for var in (set_, default, ContextVar[int]("unset")):
        propagate(var)

    def values() -> dict[str, Any]:
        set_.set(3)
        return propagated_values()

    found = in_fresh_context(values)
    assert (found["set"], found["default"]) == (3, 5)
    assert "unset" not in found


def test_values_are_in_force_inside_and_as_before_outside():
    var = propagate(ContextVar("var", default=0))
    with setting_contextvars({"var": 7}):
        assert var.get() == 7
    assert var.get() == 0


def test_an_unregistered_variable_is_refused_by_name_when_it_is_pickled():
    with pytest.raises(
        TypeError, match=r"'secret'; register it with parpass\.propagate"
    ):
        pickle_by_value(ContextVar[int]("secret"))


def test_a_registered_variable_is_itself_again_when_unpickled():
    var = propagate(ContextVar[int]("known"))
    assert pickle.loads(pickle_by_value(var)) is var


def test_how_others_pickle_contextvars_is_theirs_to_say():
    assert ContextVar not in copyreg.dispatch_table
    with pytest.raises(TypeError):
        pickle.dumps(propagate(ContextVar[int]("known")))


def test_a_worker_that_imports_the_definition_late_finds_the_value_in_it():
    with setting_contextvars({"late": 4}):
        var = propagate(ContextVar[int]("late"))
        assert var.get() == 4


def test_a_worker_may_know_a_name_from_a_run_that_is_over():
    with setting_contextvars({"late": 4}):
        pass
    var = propagate(ContextVar("late", default=1))
    assert var.get() == 1


def test_a_placeholder_and_its_variable_have_one_value_ever_after():
    with contextlib.ExitStack() as first:
        first.enter_context(setting_contextvars({"late": 4}))
        place_holder = pickle.loads(_named_late())
        var = propagate(ContextVar[int]("late"))
    with setting_contextvars({"late": 5}):
        assert (place_holder.get(), var.get()) == (5, 5)


def test_pass_bodies_in_workers_see_the_value_or_the_default(runner: Runner):
    def run() -> dict[str, tuple[int, ...]]:
        return values_of(run_pooled(runner, AppendPropagated(), program(1, 2)))

    assert run() == {"f0": (1, 0), "f1": (2, 0)}

    def with_value() -> dict[str, tuple[int, ...]]:
        propagated.set(42)
        return run()

    assert in_fresh_context(with_value) == {"f0": (1, 42), "f1": (2, 42)}


def test_what_a_pass_sets_stays_in_its_job(runner: Runner):
    run_pooled(runner, SetPropagated(), program(*range(4)))
    assert propagated.get() == 0
    seen = values_of(run_pooled(runner, AppendPropagated(), program(*range(8))))
    assert {values[-1] for values in seen.values()} == {0}


async def test_each_task_of_trio_has_its_own_value_in_the_workers(runner: Runner):
    seen: dict[int, set[int]] = {}

    async def run(value: int) -> None:
        propagated.set(value)
        mod = await runner.run(
            program(*range(6)), [AppendPropagated(), Add(0)], context=pooled()
        )
        seen[value] = {values[-1] for values in values_of(mod).values()}

    async with trio.open_nursery() as nursery:
        for value in range(1, 5):
            nursery.start_soon(run, value)
    assert seen == {value: {value} for value in range(1, 5)}


def test_a_value_that_cannot_be_pickled_is_named(runner: Runner):
    def run() -> None:
        propagated.set({"lock": threading.Lock()})
        run_pooled(runner, AppendPropagated(), program(1, 2))

    expected = r"the propagated contextvar 'test_propagated'\['lock'\]: TypeError"
    with pytest.raises(RuntimeUseError, match=expected):
        in_fresh_context(run)


def test_a_worker_has_the_context_that_was_in_force(runner: Runner):
    assert PassContext.current().opt_level == 2
    run_pooled(runner, Add(1), program(1, 2), opt_level=1)
    assert PassContext.current().opt_level == 2
