"""The law: a parallel run gives what the serial run gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parpass import relay
from parpass.relay.module import IRModule
from parpass.relay.node import post_order
from parpass.relay.structural import assert_structural_equal
from parpass.runtime import Runner
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
)
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.conftest import RunnerOf
from tests.support.pooled import POOLED
from tests.support.programs import modules
from tests.support.toy_ir import Program, program
from tests.support.toy_passes import Add, AddFrom, FailOn, Say
from tests.support.toy_pipelines import Seen, pipelines, programs, see
from tests.support.watching import Blind, Log, raising_at, vetoing

# The form for every day; PARPASS_LAW_EXAMPLES=2000 is a good night's work.
EXAMPLES = int(os.environ.get("PARPASS_LAW_EXAMPLES", "60"))
law = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)

pytestmark = pytest.mark.slow

WORKERS = [1, 2, 4]


class Told(Log):
    """Logs each call with the text of the module that it is shown."""

    def _take(self, hook: str, mod: Any = None, pass_name: str = "") -> Any:
        answer = super()._take(hook, mod, pass_name)
        self.log[-1] += f"\n{mod}"
        return answer


HOOKS = ["enter", "exit", "should", "before", "after", "failed"]


def instruments() -> st.SearchStrategy[Callable[[], list[Any]]]:
    """Generate ways to make instruments: observing ones or not, some hard to please."""
    names = st.sampled_from(["Add", "Say", "Keep", "sequential", "Check", "AddFrom"])
    answers = st.one_of(
        st.none(),
        st.builds(vetoing, names),
        st.builds(raising_at, st.sampled_from(HOOKS), names),
    )
    one = st.one_of(
        st.just(Blind),
        st.just(Blind),
        answers.map(lambda at: lambda: Told(at=at)),
    )

    def all_made(makers: list[Callable[[], Any]]) -> Callable[[], list[Any]]:
        return lambda: [make() for make in makers]

    return st.lists(one, max_size=2).map(all_made)


def context_settings() -> st.SearchStrategy[dict[str, Any]]:
    """Generate levels, and passes that are disabled or required."""
    names = st.lists(st.sampled_from(["Add", "Say", "Keep", "FailOn"]), max_size=2)
    return st.fixed_dictionaries(
        {
            "opt_level": st.integers(0, 3),
            "disabled_pass": names,
            "required_pass": names,
        }
    )


def on_pool(runner: Runner) -> Callable[[Pass, Any], Any]:
    return lambda root, mod: runner.run_sync(mod, root)


def both(
    root: Pass,
    mod: Program,
    make: Callable[[], list[Any]],
    given_settings: Mapping[str, Any],
    runner: Runner,
    config: Mapping[str, Any],
) -> tuple[Seen, Seen]:
    """Return what is seen of a serial run and of a parallel one, logs compared."""
    serial_watchers, parallel_watchers = make(), make()
    serial = see(root, mod, *serial_watchers, settings=given_settings)
    parallel = see(
        root,
        mod,
        *parallel_watchers,
        run=on_pool(runner),
        settings={**given_settings, "config": config},
    )
    assert [one.log for one in parallel_watchers] == [
        one.log for one in serial_watchers
    ]
    assert parallel.rendered_on == serial.rendered_on
    return serial, parallel


@pytest.mark.parametrize("workers", WORKERS)
@law
@given(
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
)
def test_workers_give_what_the_serial_run_gives(
    runner_of: RunnerOf,
    workers: int,
    mod: Program,
    pipeline: Sequential,
    make: Callable[[], list[Any]],
    given_settings: dict[str, Any],
):
    before = str(mod)
    serial, parallel = both(
        pipeline, mod, make, given_settings, runner_of(workers), POOLED
    )
    assert parallel == serial
    assert str(mod) == before


@law
@given(
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    asking=st.sampled_from([1e-9, 2e-5, 1e-4, 1e-3]),
)
def test_the_law_holds_where_a_stage_is_begun_in_process_and_ended_by_workers(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Callable[[], list[Any]],
    asking: float,
):
    config = {ASKING_WORKERS_SECONDS: asking}
    serial, parallel = both(pipeline, mod, make, {}, runner, config)
    assert parallel == serial


class Rename(FunctionPass):
    """Negates what a function returns, reads another one, and counts."""

    pass_info = PassInfo(0, "Rename")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        other = mod["f0"]
        ctx.count("params", len(other.params))
        if isinstance(func.body, relay.Call) and len(other.params) > 1:
            return func
        with_let = relay.var("new")
        body = relay.Let(with_let, func.body, with_let)
        return relay.Function(func.params, body, func.ret_type)


class Reverse(ModulePass):
    """Puts the functions in reverse order, under the names that they have."""

    pass_info = PassInfo(0, "Reverse")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        items = list(mod.functions.items())
        return IRModule(dict(reversed(items)))


def relay_pipelines() -> st.SearchStrategy[Sequential]:
    """Generate pipelines of the shipped passes, and two of our own."""
    t = relay.transform
    one = st.sampled_from(
        [
            t.InferType,
            t.FoldConstant,
            t.SimplifyInference,
            t.EliminateCommonSubexpr,
            t.DeadCodeElimination,
            t.RemoveUnusedFunctions,
            Rename,
            Reverse,
        ]
    )
    made: st.SearchStrategy[Pass] = one.map(lambda make: make())
    return st.builds(Sequential, st.lists(made, min_size=1, max_size=6))


@pytest.mark.parametrize("workers", WORKERS)
@law
@given(mod=modules(), pipeline=relay_pipelines(), watched=st.booleans())
def test_relay_modules_come_out_of_workers_as_out_of_the_serial_run(
    runner_of: RunnerOf,
    workers: int,
    mod: IRModule,
    pipeline: Sequential,
    watched: bool,
):
    logs: list[list[str]] = []

    def watchers() -> list[Any]:
        made: list[Any] = [Told() if watched else Blind()]
        logs.append(made[0].log)
        return made

    def outcome(config: Mapping[str, Any], run: Callable[[Pass, Any], Any]) -> Any:
        context = PassContext(opt_level=3, instruments=watchers(), config=config)
        try:
            with context:
                result = run(pipeline, mod)
        except Exception as error:  # noqa: BLE001 -- it is compared
            notes: list[str] = getattr(error, "__notes__", [])
            return (type(error), str(error), notes), context.statistics
        return result, context.statistics

    serial, counted = outcome({}, lambda root, given_mod: root(given_mod))
    parallel, also_counted = outcome(POOLED, on_pool(runner_of(workers)))
    assert also_counted == counted
    assert logs[0] == logs[1]
    if not isinstance(serial, IRModule):
        assert parallel == serial
        return
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert list(parallel.functions_by_name) == list(serial.functions_by_name)
    assert parallel.astext() == serial.astext()
    assert checked_types(parallel) == checked_types(serial)


def checked_types(mod: IRModule) -> list[list[Any]]:
    return [
        [getattr(node, "checked_type_", None) for node in post_order(function)]
        for function in mod.functions_by_name.values()
    ]


def test_the_law_holds_over_more_passes_than_go_together(runner: Runner):
    passes: list[Pass] = [Add(1), Say(), AddFrom("f1")] * 7
    failing = [*passes, FailOn(16), *passes]
    for root in (Sequential(passes), Sequential(failing)):
        serial, parallel = both(
            root, program(*range(4)), lambda: [Blind()], {}, runner, POOLED
        )
        assert parallel == serial
