"""The law holds with each optimisation of the runner forced on and forced off."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.runner import Runner, open_runner
from parpass.transform import Pass, Sequential, register_adapter
from parpass.transform.config import ASKING_WORKERS_SECONDS, ON_FAILURE, OPTIMIZATIONS
from parpass.transform.debug.bisect import OPT_BISECT_LIMIT
from tests.runner.plain_wire import PlainAdapter
from tests.runner.switching import NAMES, OFF, ON, switches
from tests.support.relay.comparing import check_relay
from tests.support.relay.passes import (
    AddUp,
    Increment,
    Loosen,
    Rename,
    Retype,
    Reverse,
    Weigh,
)
from tests.support.relay.pipelines import hard_pipelines
from tests.support.relay.programs import modules
from tests.support.runner.comparing import (
    Told,
    Watchers,
    both,
    instruments,
    law_on,
)
from tests.support.toy.ir import CheckedProgram, Fn, Program, program
from tests.support.toy.passes import Add, AddFrom, Duplicate, FailOn, Say
from tests.support.toy.pipelines import pipelines, programs
from tests.support.toy.talking import Talk, TalkAside
from tests.support.watching import Blind

pytestmark = pytest.mark.slow

HERE, WORKERS = 1e9, 0.0


def places() -> st.SearchStrategy[float]:
    """Generate where work is done: here, in workers, or begun here and ended there."""
    return st.sampled_from([WORKERS, WORKERS, HERE, 1e-9, 2e-5, 1e-4])


def config_of(given_switches: Mapping[str, Any], place: float) -> dict[str, Any]:
    return {OPTIMIZATIONS: dict(given_switches), ASKING_WORKERS_SECONDS: place}


def talking_pipelines() -> st.SearchStrategy[Sequential]:
    """Generate pipelines of which some passes log and warn."""
    talk = st.one_of(
        st.builds(Talk, st.none() | st.integers(1, 4)), st.builds(TalkAside)
    )
    return st.builds(Sequential, st.lists(st.one_of(talk, pipelines()), max_size=4))


def policies() -> st.SearchStrategy[dict[str, Any]]:
    """Generate options that hold for the serial run, too, and bear on stages."""
    return st.sampled_from(
        [{}, {}, {ON_FAILURE: "skip"}, {ON_FAILURE: "retry"}, {OPT_BISECT_LIMIT: 7}]
    )


def check_toy(
    root: Pass,
    mod: Program,
    make: Watchers,
    runner: Runner,
    config: dict[str, Any],
    policy: Mapping[str, Any] | None = None,
) -> None:
    shared = {"config": policy or {}}
    serial, parallel = both(root, mod, make, shared, runner, config)
    assert parallel == serial


@contextlib.contextmanager
def plain_wire(*, is_plain: bool) -> Generator[None]:
    if is_plain:
        register_adapter(IRModule, PlainAdapter())
    try:
        yield
    finally:
        register_adapter(IRModule, IRModuleAdapter())


TOY = program(0, 1, 2, large=Fn(tuple(range(20))), left_alone=Fn((5,), skip=True))
TOY_PASSES: list[Pass] = [
    Add(1), Talk(), AddFrom("f1"), Say(), Duplicate(), TalkAside(), AddFrom("f0_copy"),
    Add(0),
]  # fmt: skip
TOY_FAILING: list[Pass] = [*TOY_PASSES, FailOn(5), AddFrom("f0")]


def relay_module() -> IRModule:
    """Return a module of functions that call each other, some with large constants."""
    mod = IRModule()
    kind = relay.TensorType((2, 3), "float32")
    for at in range(5):
        x = relay.var(f"x{at}", kind)
        body = relay.abs(relay.add(x, relay.const([1.0, 2.0, float(at)])))
        if at > 1:
            body = relay.Call(mod.get_global_var("f1"), (relay.add(body, body),))
        mod[f"f{at}"] = relay.Function((x,), body, kind)
    return Weigh()(mod)


RELAY_PASSES: list[Pass] = [
    AddUp(), Reverse(), Loosen(), Retype("f1"), Increment(),
]  # fmt: skip
RELAY_FAILING: list[Pass] = [AddUp(), Retype("f0", "f1"), Rename(), AddUp()]


def blind() -> list[Any]:
    return [Blind()]


@pytest.mark.parametrize("rest", ["on", "off"])
@pytest.mark.parametrize("name", NAMES)
def test_the_law_holds_with_each_optimisation_alone_on_and_alone_off(
    runner: Runner, name: str, rest: str
):
    others, this = (ON, OFF) if rest == "on" else (OFF, ON)
    config = config_of({**others, name: this[name]}, WORKERS)
    check_toy(Sequential(TOY_PASSES), TOY, blind, runner, config)
    check_relay(Sequential(RELAY_PASSES), relay_module(), blind, runner, config)


@pytest.mark.parametrize("given_switches", [ON, OFF], ids=["on", "off"])
@pytest.mark.parametrize("place", [HERE, 1e-4, WORKERS])
def test_the_law_holds_for_failures_with_all_on_and_all_off_wherever_work_is_done(
    runner: Runner, given_switches: Mapping[str, Any], place: float
):
    is_local = place != WORKERS
    config = config_of({**given_switches, "local_small_stages": is_local}, place)
    mod = CheckedProgram(TOY.functions)
    check_toy(Sequential(TOY_FAILING), mod, blind, runner, config)
    check_relay(Sequential(RELAY_FAILING), relay_module(), blind, runner, config)


@pytest.mark.parametrize("given_switches", [ON, OFF], ids=["on", "off"])
def test_the_law_holds_for_functions_that_are_packed_in_the_slowest_way(
    runner: Runner, given_switches: Mapping[str, Any]
):
    config = config_of(given_switches, WORKERS)
    with plain_wire(is_plain=True):
        check_relay(Sequential(RELAY_PASSES), relay_module(), blind, runner, config)


def test_the_law_holds_in_the_first_run_of_new_processes():
    with open_runner(workers=2) as runner:
        for given_switches in (OFF, ON):
            config = config_of(given_switches, WORKERS)
            check_toy(Sequential(TOY_FAILING), TOY, blind, runner, config)


def toy_law(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    policy: dict[str, Any],
    given_switches: dict[str, Any],
    place: float,
) -> None:
    check_toy(pipeline, mod, make, runner, config_of(given_switches, place), policy)


toy_cases = given(
    mod=programs(),
    pipeline=talking_pipelines(),
    make=instruments(),
    policy=policies(),
    given_switches=switches(),
    place=places(),
)


def relay_law(
    runner: Runner,
    mod: IRModule,
    pipeline: Sequential,
    is_heavy: bool,
    is_watched: bool,
    is_plain: bool,
    given_switches: dict[str, Any],
    place: float,
) -> None:
    given_mod = Weigh()(mod) if is_heavy else mod
    make = Told if is_watched else Blind
    with plain_wire(is_plain=is_plain):
        config = config_of(given_switches, place)
        check_relay(pipeline, given_mod, lambda: [make()], runner, config)


relay_cases = given(
    mod=modules(),
    pipeline=hard_pipelines(),
    is_heavy=st.booleans(),
    is_watched=st.booleans(),
    is_plain=st.booleans(),
    given_switches=switches(),
    place=places(),
)

test_the_law_holds_for_toy_programs_whatever_is_on = law_on(1.25)(toy_cases(toy_law))
test_the_law_holds_for_relay_whatever_is_on = law_on(0.75)(relay_cases(relay_law))

test_the_law_holds_for_many_toy_programs_whatever_is_on = pytest.mark.stress(
    law_on(100)(toy_cases(toy_law))
)
test_the_law_holds_for_much_relay_whatever_is_on = pytest.mark.stress(
    law_on(50)(relay_cases(relay_law))
)
