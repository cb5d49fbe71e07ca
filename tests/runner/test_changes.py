"""Instruments are told of changes as in a serial run, wherever the passes ran."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Literal

import pytest

from parpass.instrument import PassInstrument
from parpass.runner import Runner
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
)
from parpass.transform.capture.change import MAX_TEXT_CHARS, FunctionChange
from parpass.transform.checked_adapter import checked
from parpass.transform.config import ASKING_WORKERS_SECONDS, ISOLATED, ON_FAILURE
from tests.runner.printed_program import (
    POSITIVE,
    PRINTING,
    MaskedProgram,
    PositiveProgram,
    PrintedProgram,
    make_positive,
)
from tests.support.runner.pooled import HERE, POOLED
from tests.support.runner.probing import settling
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, AddFrom, Duplicate, FailOn, Keep
from tests.support.toy.texts import change_of
from tests.support.watching import ChangeLog, serially, told

pytestmark = pytest.mark.slow

SETTINGS: list[dict[str, Any]] = [
    POOLED,
    {ASKING_WORKERS_SECONDS: 2e-5},
    {ISOLATED: True},
    {**POOLED, ON_FAILURE: "skip"},
]


class Remove(ModulePass):
    """Removes the first function."""

    pass_info = PassInfo(0, "Remove")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        functions = dict(mod.functions)
        del functions[next(iter(functions))]
        return Program(functions, mod.title, mod.sources)


@pytest.mark.parametrize("config", SETTINGS, ids=str)
@pytest.mark.parametrize(
    "root",
    [
        Sequential([Add(1), Keep(), Add(2), Add(0), Add(3)]),
        Sequential([Add(1), Duplicate(), Add(2), Remove(), Add(3)]),
        Sequential([Add(1), AddFrom("f2"), Add(1)]),
        Sequential([Add(1), FailOn(7), Add(1)]),
    ],
    ids=["functions", "module", "on demand", "failing"],
)
@pytest.mark.parametrize("wanted", [("*", "*"), ("Add", "f[135]*")], ids=str)
def test_changes_are_those_of_a_serial_run(
    runner: Runner, root: Pass, config: dict[str, Any], wanted: tuple[str, str]
) -> None:
    mod, policy = (
        program(*range(9)),
        {k: v for k, v in config.items() if k == ON_FAILURE},
    )
    serial = told(serially, mod, root, ChangeLog(*wanted), **policy)
    assert told(runner.run_sync, mod, root, ChangeLog(*wanted), **config) == serial
    assert any(line.startswith("Add changed f1: ") for line in serial)
    if wanted != ("*", "*"):
        changed = {line.split(":")[0] for line in serial if " changed " in line}
        assert changed <= {
            f"Add changed f{at}{more}" for at in (1, 3, 5) for more in ("", "_copy")
        }


def test_what_a_pass_returns_unchanged_or_made_anew_is_no_change(runner: Runner):
    for run, config in ((serially, {}), (runner.run_sync, POOLED)):
        log = ChangeLog()
        told(run, program(*range(9)), Sequential([Keep(), Add(0)]), log, **config)
        assert log.changes == []


def test_added_and_removed_functions_have_one_text(runner: Runner):
    log = ChangeLog()
    told(runner.run_sync, program(5), Sequential([Duplicate(), Remove()]), log)
    added, removed = log.changes
    assert (added.verb, added.function, added.before) == ("added", "f0_copy", None)
    assert (removed.verb, removed.function, removed.after) == ("removed", "f0", None)


def test_a_function_under_a_second_name_is_shown_under_that_name():
    log = ChangeLog()
    with PassContext(instruments=[log]):
        Sequential([Add(1), Duplicate()])(program(1))
    assert [one.after for one in log.changes] == ["# \nf0: (2,)", "# \nf0_copy: (2,)"]


def test_each_version_is_printed_once():
    count = 600
    mod = PrintedProgram(program(*range(count)).functions)
    log = ChangeLog()
    with PRINTING.printing() as printed:
        told(serially, mod, Sequential([Add(1), Keep(), Add(2)]), log)
    assert len(log.changes) == 2 * count
    assert len(printed) == 3 * count


def test_functions_are_printed_after_the_pass_and_not_before_they_are_restored():
    mod = PositiveProgram(program(5, 6, 7).functions)
    log = ChangeLog()
    with POSITIVE.printing() as seen:

        @function_pass(opt_level=0)
        def negate(func: Fn, mod: Program, ctx: PassContext) -> Fn:
            seen.append("negated")
            return func.with_values(-2 * value for value in func.values)

        told(serially, mod, negate, log)
    assert seen == ["negated"] * 3 + ["f0", "f0", "f1", "f1", "f2", "f2"]
    assert [one.after for one in log.changes] == [
        f"# \nf{at}: ({value},)" for at, value in enumerate((10, 12, 14))
    ]


@pytest.mark.parametrize("config", [*SETTINGS, HERE], ids=str)
def test_what_the_restoring_pass_undoes_is_no_change(
    runner: Runner, config: dict[str, Any]
) -> None:
    root, values = Sequential([Add(-4), Add(0), Add(1)]), (0, 2, 5, 2, 3)
    mod = PositiveProgram(program(*values).functions)
    serial = told(serially, mod, root, ChangeLog())
    assert told(runner.run_sync, mod, root, ChangeLog(), **config) == serial
    assert [line for line in serial if line.startswith("Add changed f1: ")] == [
        "Add changed f1: '# \\nf1: (2,)' to '# \\nf1: (3,)'"
    ]


class Mask(FunctionPass):
    """Makes the first number negative, and adds to the second, which is not shown."""

    def __init__(self, added: int, where: Literal["here", "workers"] | None = None):
        self.pass_info = PassInfo(0, f"Mask{added}")
        self.added, self.where = added, where

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        first, second = func.values
        return func.with_values((-first, second + self.added * (first > 3)))


class Sees(PassInstrument):
    """Looks at the IR between two passes."""


CUTS: list[tuple[list[Any], dict[str, Any]]] = [
    ([], {}),
    ([Sees], {}),
    ([], {"parpass.optimizations": {"stages": False}}),
]


@pytest.mark.parametrize("config", [*SETTINGS, HERE], ids=str)
@pytest.mark.parametrize(("others", "cut"), CUTS, ids=str)
def test_what_only_the_restored_function_shows_is_a_change(
    runner: Runner, config: dict[str, Any], others: list[Any], cut: dict[str, Any]
) -> None:
    mod = MaskedProgram({f"f{at}": Fn((at, at)) for at in range(9)})
    config = {**config, **cut}
    passes = [Mask(0), Mask(1), Mask(2, "here"), Mask(0), Mask(3, "workers"), Mask(4)]
    root = Sequential([make_positive, *passes, make_positive, Mask(5), Mask(0)])
    found: list[list[str]] = []
    for run in (serially, runner.run_sync):
        log = ChangeLog()
        with PassContext(instruments=[other() for other in others]):
            instruments = [*PassContext.current().instruments, log]
        settings = config if found else {}
        with PassContext(instruments=instruments, config=settings):
            run(mod, root)
        assert all(one.is_hidden for one in log.changes)
        found.append([f"{line}" for line in log.log if " changed " in line])
    assert found[1] == found[0]
    names = [line.split()[0] for line in found[0]]
    assert names == [f"Mask{at}" for at in range(1, 6) for _ in range(5)]


def test_functions_that_show_what_passes_cost_are_printed_after_that(runner: Runner):
    printed_by_then: list[int] = []

    @function_pass(opt_level=0)
    def note(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        printed_by_then.append(len(printed))
        return func.with_values(value + 1 for value in func.values)

    mod, log = PrintedProgram(program(*range(5)).functions), ChangeLog()
    with PRINTING.printing() as printed, settling(2):
        told(runner.run_sync, mod, Sequential([note, Add(1)]), log, **HERE)
    assert printed_by_then == [0] * 5
    assert len(log.changes) == 10


def test_a_version_that_cannot_be_printed_says_why_and_the_run_goes_on(runner: Runner):
    mod = PrintedProgram(program(11, 12).functions)
    for run, config in ((serially, {}), (runner.run_sync, POOLED)):
        log = ChangeLog(functions="f1")
        told(run, mod, Sequential([Add(1), Add(1)]), log, **config)
        why = "cannot be printed: LookupError: unlucky"
        assert [(one.before, one.after) for one in log.changes] == [
            ("# \nf1: (12,)", why),
            (why, "# \nf1: (14,)"),
        ]


def test_a_runner_keeps_no_function_of_a_run_that_was_watched(runner: Runner):
    made: list[weakref.ref[Fn]] = []

    @function_pass(opt_level=0)
    def double(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        result = func.with_values(2 * value for value in func.values)
        made.append(weakref.ref(result))
        return result

    log = ChangeLog()
    told(runner.run_sync, program(1, 2), Sequential([double, Add(1)]), log, **HERE)
    gc.collect()
    assert len(log.changes) == 4
    assert [one() for one in made] == [None, None]


def test_versions_made_on_demand_are_not_printed_and_those_of_a_batch_not_kept():
    mod = program(1, 5)
    steps = [Add(1), AddFrom("f1")]
    context = PassContext(instruments=[ChangeLog()])
    names = list(mod.functions)
    adapter = checked(PRINTING)
    work = StageInterpreter(steps, context, adapter, Program(), names, mod.__getitem__)
    cursor = FunctionCursor("f0", 0)
    with PRINTING.printing() as printed:
        work.run([cursor])
    assert cursor.outcome.function == Fn((2, 6))
    assert printed == ["f0", "f0", "f0"]
    made = weakref.ref(cursor.outcome.function)
    del cursor
    assert made() is None


def test_functions_of_a_run_are_not_kept_with_its_context():
    with PassContext(instruments=[ChangeLog()]):
        mod = Add(1)(program(1))
        made = weakref.ref(mod["f0"])
        del mod
        gc.collect()
        assert made() is None


def test_watching_changes_makes_no_barrier(runner: Runner):
    reports: list[Any] = []
    for instruments in ([], [ChangeLog()]):
        with PassContext(instruments=instruments, config=POOLED):
            root = Sequential([Add(1), Add(2), Add(3)])
            runner.run_sync(program(*range(30)), root, report=reports.append)
    assert reports[0].stages == reports[1].stages == 1


def test_the_text_of_a_huge_function_is_cut():
    before = "x" * (MAX_TEXT_CHARS + 5)
    mod = Program({"f": program(1)["f0"]}, before)
    log = ChangeLog()
    told(serially, mod, Add(1), log)
    (change,) = log.changes
    assert (change.after or "").endswith(" characters)")
    assert len(change.after or "") < MAX_TEXT_CHARS + 100


@pytest.mark.parametrize("text", ["", "=", "x", "äö\n" * 3, "ä" * 5000])
def test_the_texts_of_a_change_are_those_of_the_functions(text: str):
    change = change_of("f", text, f"{text}b")
    assert (change.before, change.after) == (text, f"{text}b")


def test_a_hook_that_raises_ends_the_run_and_is_named(runner: Runner):
    class Refuses(PassInstrument):
        observes_ir = False

        def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
            raise LookupError(change.function)

    for run, config in ((serially, {}), (runner.run_sync, POOLED)):
        with (
            PassContext(instruments=[Refuses()], config=config),
            pytest.raises(LookupError, match="f0") as raised,
        ):
            run(program(*range(9)), Add(1))
        where = "in on_function_changed of instrument 'Refuses', of pass 'Add'"
        assert where in raised.value.__notes__
