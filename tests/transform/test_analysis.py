"""Analyses: computed once, kept while passes preserve them, and checked."""

from __future__ import annotations

import functools
import logging
import sys
from collections import Counter
from collections.abc import Callable, Generator
from types import CodeType, FrameType
from typing import Any

import pytest

from parpass.errors import ArgumentError, PreservedAnalysisError
from parpass.runner import Runner
from parpass.transform import (
    FunctionPass,
    FunctionwisePass,
    Optimizations,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    analysis,
    function_pass,
    module_pass,
)
from tests.support.runner.comparing import both
from tests.support.runner.pooled import POOLED
from tests.support.toy.analyses import (
    AddTwo,
    AppendStamp,
    Ask,
    AskOtherwise,
    AskTotal,
    AskWhole,
    ChangeInPlace,
    largest,
    odd,
    talking,
    total,
)
from tests.support.toy.box_ir import Box, box_program
from tests.support.toy.ir import CheckedProgram, Fn, Program, program, values_of
from tests.support.toy.kinds import OpenProgram
from tests.support.toy.passes import Add, Keep
from tests.support.toy.pipelines import see

CHECKED = {"parpass.check_analyses": True}


Times = Callable[[Callable[..., Any]], int]


@pytest.fixture
def times() -> Generator[Times]:
    """Return how many times an analysis was computed here since the last call."""
    calls: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    sys.setprofile(note)
    yield lambda one: calls.pop(one.__code__, 0)
    sys.setprofile(None)


def of(**functions: list[int]) -> Program:
    """Return a program of functions of these numbers."""
    return program(**{name: Fn(tuple(one)) for name, one in functions.items()})


def test_it_is_computed_once_for_a_function_that_stays(times: Times):
    Sequential([AddTwo(0), AskTotal(), AskTotal()])(of(f=[1, 2]))
    assert (times(odd), times(total)) == (1, 1)


def test_module_passes_drop_those_of_functions_that_can_be_changed(times: Times):
    Sequential([AskTotal(), Keep(), AskTotal()])(of(f=[1]))
    assert times(total) == 2


def test_it_is_kept_by_a_pass_that_preserves_it_and_dropped_by_others(times: Times):
    Sequential([AddTwo(), AddTwo(), AddTwo()])(of(f=[1], g=[2]))
    assert times(odd) == 2
    Sequential([AddTwo(), Add(1), AddTwo()])(of(f=[1], g=[2]))
    assert times(odd) == 4


def test_what_a_pass_preserves_is_kept_by_the_restoring_pass_too(times: Times):
    mod = CheckedProgram({"f": Fn((1,), checked=True)})
    Sequential([AddTwo(), AddTwo(), AddTwo()])(mod)
    assert times(odd) == 1


def test_module_passes_keep_functions_that_they_leave(times: Times):
    Sequential([AddTwo(), AskWhole(), AddTwo()])(of(f=[1], g=[2]))
    assert times(odd) == 2


def test_one_of_a_module_is_kept_while_no_function_changes(times: Times):
    ask = Ask(appends=False)
    Sequential([ask, ask])(of(f=[5], g=[6]))
    assert times(largest) == 1
    Sequential([ask, AddTwo(), ask])(of(f=[5], g=[6]))
    assert times(largest) == 2
    Sequential([ask, Keep(), ask])(of(f=[5], g=[6]))  # which may change it in place
    assert times(largest) == 2


def test_one_of_a_module_is_kept_by_module_passes_that_preserve_it(times: Times):
    @module_pass(opt_level=0, preserves=[largest])
    def copied(mod: Program, ctx: PassContext) -> Program:
        ctx.get_analysis(largest, mod)
        return Program(dict(mod.functions), mod.title, mod.sources)

    Sequential([copied, Ask(appends=False)])(of(f=[5], g=[6]))
    assert times(largest) == 1


def test_a_module_that_a_pass_changed_in_place_is_another():
    seen: list[int] = []

    @module_pass(opt_level=0)
    def change(mod: Program, ctx: PassContext) -> Program:
        seen.append(ctx.get_analysis(largest, mod))
        mod["f"] = Fn((7,))
        seen.append(ctx.get_analysis(largest, mod))
        return mod

    change(of(f=[1]))
    assert seen == [1, 7]


def test_a_function_that_a_pass_changed_in_place_is_another():
    seen: list[int] = []

    @function_pass(opt_level=0)
    def change(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        seen.append(ctx.get_analysis(odd, func))
        object.__setattr__(func, "values", (*func.values, 5))
        seen.append(ctx.get_analysis(odd, func))
        return func

    made = change(OpenProgram(of(f=[1]).functions))
    assert values_of(made) == {"f": (1, 5)}
    assert seen == [1, 2]


def test_one_that_emits_something_does_so_each_time_it_is_asked_for(times: Times):
    seen = see(Sequential([Ask(appends=False), Ask(appends=False)]), of(f=[1]))
    assert times(talking) == 2
    assert [len(one) for one in seen.said] == [1, 1]
    assert seen.statistics["Ask"]["talked"] == 2


def test_none_is_kept_where_that_is_switched_off(times: Times):
    off = Optimizations(cached_analyses=False)
    with PassContext(config={"parpass.optimizations": off}):
        Sequential([AddTwo(0), AddTwo(0)])(of(f=[1]))
    assert times(odd) == 2


def test_outside_of_passes_it_is_computed(times: Times):
    function, context = Fn((1, 3)), PassContext()
    assert context.get_analysis(odd, function) == odd(function, context) == 2


def test_a_worker_keeps_results_within_a_stage(runner: Runner):
    with PassContext(config=POOLED):
        twice = Sequential([AppendStamp(), AppendStamp()])
        made = runner.run_sync(of(f=[], g=[]), twice)
    assert {len(set(one)) for one in values_of(made).values()} == {1}
    assert len({one[0] for one in values_of(made).values()}) == 2


@pytest.mark.parametrize(
    "passes",
    [
        [Ask(), ChangeInPlace(), Ask(), ChangeInPlace(), Ask()],
        [AskOtherwise(), AddTwo(), AskOtherwise(), Ask()],
    ],
)
@pytest.mark.parametrize("make", [program, box_program])
def test_the_law_holds_where_results_might_be_stale(
    passes: list[Pass], make: Callable[..., Program], runner: Runner
):
    serial, parallel = both(Sequential(passes), make(1, 2, 3), list, {}, runner, POOLED)
    assert parallel == serial


def test_one_of_a_box_is_computed_again_once_a_pass_has_emptied_it():
    seen: list[str] = []

    @analysis
    def form(func: Box, ctx: PassContext) -> str:
        return func.form

    @function_pass(opt_level=0)
    def take(func: Box, mod: Program, ctx: PassContext) -> Box:
        seen.append(ctx.get_analysis(form, func))
        made = Box(func.take())
        seen.append(ctx.get_analysis(form, func))
        return made

    take(box_program(1))
    assert seen == ["body", "bytes"]


def test_a_filter_that_raises_comes_before_an_analysis_that_does():
    @analysis
    def failing(func: Fn, ctx: PassContext) -> int:
        logging.getLogger("toy").warning("talked")
        raise ValueError("the analysis failed")

    @function_pass(opt_level=0)
    def ask(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.get_analysis(failing, func)
        return func

    def refuse(record: logging.LogRecord) -> bool:
        raise KeyError("the filter failed")

    logging.getLogger("toy").addFilter(refuse)
    try:
        with pytest.raises(KeyError, match="the filter failed"):
            ask(of(f=[1]))
    finally:
        logging.getLogger("toy").removeFilter(refuse)


class Lie(FunctionPass):
    """Says that it preserves what it changes."""

    pass_info = PassInfo(0, "Lie")
    preserves = (odd,)

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, 1))


@module_pass(opt_level=0, preserves=[odd, largest])
def lie_of_modules(mod: Program, ctx: PassContext) -> Program:
    """Change a function, and so the module."""
    changed = {
        name: fn.with_values([*fn.values, 9]) for name, fn in mod.functions.items()
    }
    return Program({**changed, "new": Fn((1,))}, mod.title, mod.sources)


@module_pass(opt_level=0, preserves=[odd])
def lie_of_functions(mod: Program, ctx: PassContext) -> Program:
    """Change a function."""
    changed = {n: fn.with_values([*fn.values, 9]) for n, fn in mod.functions.items()}
    return Program(changed, mod.title, mod.sources)


@pytest.mark.parametrize("kind", [Program, CheckedProgram])
def test_the_check_names_the_pass_that_lied(kind: type[Program], runner: Runner):
    mod = kind(of(f=[1], g=[2]).functions)
    pipeline = Sequential([AddTwo(), Lie(), AddTwo()])
    errors: list[str] = []
    for run in (pipeline, functools.partial(runner.run_sync, pipeline=pipeline)):
        with (
            PassContext(config={**CHECKED, **POOLED}),
            pytest.raises(PreservedAnalysisError) as caught,
        ):
            run(mod)
        assert (caught.value.pass_name, caught.value.function) == ("Lie", "f")
        errors.append(str(caught.value))
    assert (
        "preserves analysis 'odd', and changed it on function 'f': 1 before, 2"
        in errors[0]
    )
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("lie", "where", "function"),
    [
        (lie_of_modules, "'largest', and changed it on the module: 2 before, 9", None),
        (lie_of_functions, "'odd', and changed it on function 'f': 1 before, 2", "f"),
    ],
)
def test_the_check_finds_module_passes_that_lie(
    lie: Any, where: str, function: str | None
):
    with PassContext(config=CHECKED), pytest.raises(PreservedAnalysisError) as caught:
        lie(of(f=[1], g=[2]))
    assert where in str(caught.value)
    assert caught.value.function == function


def test_the_check_finds_nothing_in_passes_that_keep_their_word():
    mod = CheckedProgram(of(f=[6], g=[2, 5], h=[4]).functions)
    pipeline = Sequential([AddTwo(), Ask(appends=False), AskWhole(), AddTwo()])
    plain = pipeline(mod)
    with PassContext(config=CHECKED):
        assert str(pipeline(mod)) == str(plain)


@analysis
def values(func: Fn, ctx: PassContext) -> list[int]:
    """The numbers, as a list that can be changed."""
    return list(func.values)


@function_pass(opt_level=0)
def changes_result(func: Fn, mod: Program, ctx: PassContext) -> Fn:
    """Changes a result that it is given."""
    ctx.get_analysis(values, func).append(7)
    return func


@module_pass(opt_level=0)
def changes_result_in_module(mod: Program, ctx: PassContext) -> Program:
    """Likewise."""
    for one in mod.functions.values():
        ctx.get_analysis(values, one).append(7)
    return mod


@pytest.mark.parametrize("option", ["parpass.check_analyses", "parpass.check_contract"])
@pytest.mark.parametrize(
    ("changes", "where"),
    [(changes_result, "function 'f'"), (changes_result_in_module, "the module")],
)
def test_the_check_finds_a_pass_that_changes_a_result(
    changes: Pass, where: str, option: str
):
    context = PassContext(config={option: True})
    with context, pytest.raises(PreservedAnalysisError) as caught:
        Sequential([Keep(), changes, Keep()])(of(f=[1], g=[2]))
    assert str(caught.value).startswith(
        f"pass '{changes.info.name}' changed the result of analysis 'values' that it "
        f"was given, on {where}: [1] before, [1, 7] after"
    )


def test_the_check_finds_a_pass_that_changes_a_result_in_a_worker(runner: Runner):
    context = PassContext(config={**CHECKED, **POOLED})
    with pytest.raises(PreservedAnalysisError, match=r"\[1\] before, \[1, 7\] after"):
        runner.run_sync(of(f=[1], g=[2]), changes_result, context=context)


def test_results_are_compared_as_the_analysis_says():
    @analysis(equal=lambda one, other: abs(one - other) < 5)
    def length(func: Fn, ctx: PassContext) -> int:
        return len(func.values)

    @function_pass(opt_level=0, preserves=[length])
    def append(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values([*func.values, 1])

    with PassContext(config=CHECKED):
        append(of(f=[1]))


wrong: Any = analysis  # the decorators, for arguments that their types refuse
made: Any = function_pass
ask: Any = PassContext().get_analysis


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: wrong(of="functions"),
            "expected of='function' or of='module', got",
        ),
        (lambda: wrong(7), "expected a function for @analysis, got"),
        (
            lambda: ask(len, Fn(())),
            "with the decorator @analysis, got",
        ),
        (
            lambda: PassContext().get_analysis(
                functools.wraps(odd)(lambda *_: 7), Fn(())
            ),
            "with the decorator @analysis, got",
        ),
        (
            lambda: made(Ask, 0, preserves=odd),
            "expected a list of analyses for",
        ),
        (
            lambda: made(Ask, 0, preserves=[len]),
            "the decorator @analysis, got",
        ),
        (
            lambda: made(Ask, 0, preserves=[largest]),
            "'largest', which is of mod",
        ),
        (
            lambda: type("P", (FunctionwisePass,), {"preserves": [largest]}),
            "expected analyses of functions for preserves of pass 'P'",
        ),
    ],
)
def test_what_is_no_analysis_is_refused(make: Callable[[], object], complaint: str):
    with pytest.raises(ArgumentError, match=complaint):
        make()


constants: list[Any] = []
for _number in (1, 2):

    @analysis
    def constant(func: Fn, ctx: PassContext, number: int = _number) -> int:
        """Return a number that is another one each time this is defined."""
        return number

    constants.append(constant)


def test_analyses_of_one_name_are_told_apart():
    seen: list[int] = []

    @function_pass(opt_level=0)
    def ask(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        seen.extend(ctx.get_analysis(one, func) for one in constants)
        return func

    ask(of(f=[1]))
    assert seen == [1, 2]
