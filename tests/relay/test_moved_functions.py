"""Functions that lines were added above: their results move, or are computed anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.diagnostic import override_renderer
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.runner import FunctionCache, Runner, open_runner
from parpass.transform import Pass, PassContext, Sequential, create_pass
from tests.support.comparing import law_on
from tests.support.placed import (
    PASSES,
    Looking,
    Mark,
    Tell,
    TellCallee,
    TellColumn,
    TellOwn,
)
from tests.support.pooled import POOLED
from tests.support.talking import listening
from tests.support.watching import RemarkLog

HEADER = '#[version = "0.0.5"]'
T = "Tensor[(2), float32]"
BODIES = ["negative(%x)", "@f0(%x)", "add(%x,\n  add(1f, 2f))", "@f1(abs(%x))", "%x"]
SHIPPED = "InferType", "SimplifyExpr", "FoldConstant", "EliminateCommonSubexpr"


def text_of(functions: Sequence[tuple[int, int]]) -> str:
    """Return a program.

    Args:
        functions: Of each function how many lines are above it, and its body.
    """
    parts = [
        "\n" * lines + f"def @f{at}(%x: {T}) -> {T} {{ {BODIES[body]} }}"
        for at, (lines, body) in enumerate(functions)
    ]
    return HEADER + "".join(parts) + "\n"


def seen(run: Any, root: Pass, mod: IRModule, config: dict[str, Any]) -> Any:
    """Return all that is seen of a run, with the places of all nodes."""
    remarks, told = RemarkLog(), list[Any]()
    override_renderer(lambda context: told.extend(context.diagnostics))
    try:
        with (
            listening() as heard,
            PassContext(opt_level=3, instruments=[remarks], config=config) as context,
        ):
            made = run(mod, root)
    finally:
        override_renderer(None)
    places = {
        name: [getattr(node, "span", None) for node in post_order(function)]
        for name, function in made.functions_by_name.items()
    }
    return made.astext(), places, told, remarks.log, heard, context.statistics


def serially(mod: IRModule, root: Pass) -> IRModule:
    return root(mod)


Runners = dict[tuple[str, int], Runner]


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runners]:
    """Give runners by where results are kept and how many workers there are."""
    folder = tmp_path_factory.mktemp("results")
    caches = {
        "memory": FunctionCache(),
        "verified": FunctionCache(verify=1),
        "disk": FunctionCache(folder, max_entries=1),
    }
    made = {
        (kind, workers): open_runner(workers=workers, cache=cache)
        for kind, cache in caches.items()
        for workers in (0, 2)
    }
    yield made
    for runner in made.values():
        runner.close()


_functions = st.lists(
    st.tuples(st.sampled_from([1, 1, 1, 2, 3, 0]), st.integers(0, len(BODIES) - 1)),
    min_size=2,
    max_size=4,
)
_passes = st.lists(
    st.one_of(
        st.sampled_from(SHIPPED).map(create_pass),
        st.sampled_from(PASSES).map(lambda make: make()),
    ),
    max_size=3,
)


@pytest.mark.slow
@law_on(2)
@given(
    kind=st.sampled_from(["memory", "disk", "verified"]),
    workers=st.sampled_from([0, 2]),
    texts=st.lists(_functions, min_size=2, max_size=3),
    passes=_passes,
)
def test_what_moved_gives_what_a_fresh_run_gives(
    runners: Runners,
    kind: str,
    workers: int,
    texts: list[list[tuple[int, int]]],
    passes: list[Pass],
):
    root = Sequential(passes)
    for functions in texts:
        mod = relay.parse(text_of(functions))
        expected = seen(serially, root, mod, {})
        assert seen(runners[kind, workers].run_sync, root, mod, POOLED) == expected


def recalled(runner: Runner, text: str, *passes: Pass) -> int:
    """Run passes on a text; return how many functions were not run."""
    root, mod = Sequential(passes), relay.parse(text)
    expected = seen(serially, root, mod, {})
    assert seen(runner.run_sync, root, mod, {}) == expected
    report = runner.last_report
    assert report is not None
    assert report.cache is not None
    return report.cache.recalled


BEFORE = [(1, 0), (1, 2), (1, 1), (1, 3)]
BELOW = [(1, 0), (3, 2), (1, 1), (1, 3)]  # lines are added above the second
FIRST = [(1, 4), *BEFORE[1:]]  # the body of the first has one line less


@pytest.fixture(params=["memory", "disk"])
def runner_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runner]:
    """Give runners with a cache, each as if it were of another process."""
    cache = FunctionCache()

    def runners() -> Iterator[Runner]:
        while True:
            on_disk = request.param == "disk"
            with open_runner(
                workers=0, cache=FunctionCache(tmp_path) if on_disk else cache
            ) as runner:
                yield runner

    return runners()


@pytest.mark.parametrize(
    "passes",
    [
        [create_pass(name) for name in SHIPPED],
        [Tell(), create_pass("FoldConstant"), Mark()],
    ],
)
def test_what_is_below_added_lines_moves(
    runner_of: Iterator[Runner], passes: list[Pass]
):
    assert recalled(next(runner_of), text_of(BEFORE), *passes) == 0
    moving = 4 - sum(isinstance(one, Mark) for one in passes) * 2
    assert recalled(next(runner_of), text_of(BELOW), *passes) == moving
    assert recalled(next(runner_of), text_of(BEFORE), *passes) == 4


@pytest.mark.parametrize("make", PASSES[3:])
def test_what_saw_lines_is_computed_anew(
    runner_of: Iterator[Runner], make: type[Looking]
):
    for functions in (BEFORE, BELOW, BEFORE):
        recalled(next(runner_of), text_of(functions), make())


def test_what_is_at_another_column_is_computed_anew(runner_of: Iterator[Runner]):
    for text in (text_of(BEFORE), text_of(BEFORE).replace("def @f1", "def  @f1")):
        recalled(next(runner_of), text, TellColumn(), TellOwn())


@pytest.mark.parametrize("make", [TellOwn, TellCallee])
def test_functions_without_places_that_refer_to_some_are_computed_anew(
    runner_of: Iterator[Runner], make: type[Looking]
):
    def parsed(text: str) -> IRModule:
        mod = relay.parse(text)
        x = relay.var("x", shape=(2,))
        mod["made"] = relay.Function((x,), relay.Call(mod.get_global_var("f1"), (x,)))
        return mod

    for functions in (BEFORE, BELOW, BEFORE):
        mod = parsed(text_of(functions))
        expected = seen(serially, make(), mod, {})
        assert seen(next(runner_of).run_sync, make(), mod, {}) == expected
