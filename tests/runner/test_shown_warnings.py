"""Which warnings are shown again is as in the serial run, if bodies change filters."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential
from parpass.transform.capture.emission import BufferedWarning
from parpass.transform.capture.intercept import allowing_capture_here, capturing
from parpass.transform.capture.shown_warnings import Shown
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.comparing import law_on
from tests.support.runner.costs import forget_costs
from tests.support.toy.ir import Fn, Program, ToyAdapter, program
from tests.support.toy.passes import Add
from tests.support.toy.talking import Catch, Heard, listening
from tests.support.watching import ChangeLog

HERE = 1e9  # seconds that workers must save: none are asked
IN_BOTH = 2e-5


class Warn(FunctionPass):
    """Warns on some functions, of each of them or of all in one way."""

    pass_info = PassInfo(0, "Warn")
    cacheable = "1"

    def __init__(self, on: Collection[int], text: str) -> None:
        self.on = on
        self.text = text

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if func.values[0] in self.on:
            text = self.text.format(func.values[0])
            warnings.warn(text, UserWarning, stacklevel=1)
            warnings.warn(text, UserWarning, stacklevel=1)
        return func


class CatchOn(FunctionPass):
    """Catches warnings on some functions, or silences them."""

    pass_info = PassInfo(0, "CatchOn")
    cacheable = "1"

    def __init__(self, on: Collection[int], *, records: bool = True) -> None:
        self.on = on
        self.records = records

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if func.values[0] in self.on:
            with warnings.catch_warnings(record=self.records):
                warnings.simplefilter("ignore")
                warnings.warn("quiet", UserWarning, stacklevel=1)
        return func


def heard_of(
    runs: Sequence[Sequence[Pass]],
    mod: Program,
    runner: Runner | None = None,
    *,
    action: Any = "default",
    asking: float = HERE,
) -> Heard:
    """Return what is heard of some runs, one after the other; serial ones by default.

    What passes cost is not known to any of them.
    """
    vars(warnings)["onceregistry"].clear()
    with listening(action=action) as heard:
        for passes in runs:
            if runner is None:
                Sequential(passes)(mod)
            else:
                forget_costs()
                context = PassContext(config={ASKING_WORKERS_SECONDS: asking})
                runner.run_sync(mod, Sequential(passes), context=context)
    return heard


ALL = range(20)
LATE = [15]


@pytest.mark.parametrize("action", ["default", "module", "once"])
@pytest.mark.parametrize("catch", [Catch(), CatchOn(ALL), CatchOn(ALL, records=False)])
def test_a_later_pass_does_not_make_them_forgotten_too_early(
    runner: Runner, action: str, catch: Pass
):
    talk, mod = Warn(ALL, "the same"), program(*ALL)
    runs = [[talk], [talk, catch, talk]]
    serial = heard_of(runs, mod, action=action)
    shown = heard_of(runs[:1], mod, action=action)
    assert serial == [*shown, *shown]  # anew, once they are forgotten
    assert heard_of(runs, mod, runner, action=action) == serial


def test_those_of_early_functions_are_not_held_back_that_an_earlier_pass_forgets(
    runner: Runner,
):
    talk, mod = Warn(ALL, "on {}"), program(*ALL)
    runs = [[talk], [CatchOn(LATE), talk]]
    serial = heard_of(runs, mod)
    assert len(serial) == 4 * len(ALL)
    assert heard_of(runs, mod, runner) == serial


def test_a_printer_does_not_make_them_forgotten(monkeypatch: pytest.MonkeyPatch):
    def text(_: Any, name: str, function: Fn, mod: Program) -> str:
        with warnings.catch_warnings():
            return f"prints {name}: {function.values}"

    monkeypatch.setattr(ToyAdapter, "function_text", text)
    talk, log = Warn(ALL, "the same"), ChangeLog("Add")
    with PassContext(instruments=[log]):
        heard = heard_of([[talk, Add(1), talk]], program(*ALL))
    assert "prints" in str(log.log)
    assert len(heard) == 2


class _ShownMeanwhile:
    """A mark of a warning; when it is looked at, another thread warns."""

    def __bool__(self) -> bool:
        thread = threading.Thread(target=_warn_anew)
        thread.start()
        thread.join()
        return True


def _warn_anew() -> None:
    warnings.warn("of another thread", UserWarning, stacklevel=1)


def test_another_thread_may_warn_while_those_that_were_shown_are_looked_at(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    registry: dict[Any, Any] = {}
    monkeypatch.setitem(globals(), "__warningregistry__", registry)
    context = PassContext(config={ASKING_WORKERS_SECONDS: HERE})
    with listening() as heard:
        warnings.warn("before", UserWarning, stacklevel=1)
        registry["of a thread", UserWarning, 1] = _ShownMeanwhile()
        forget_costs()
        passes = Sequential([Add(1), Add(1)])
        made = runner.run_sync(program(*ALL), passes, context=context)
    assert made["f0"].values == (2,)
    assert [text for _, text, *_ in heard] == ["before", "of another thread"]


def _warn_here() -> None:
    warnings.warn("the same", UserWarning, stacklevel=1)


def _captured(*, resets: bool) -> int:
    """Return how many warnings are captured of a body."""
    with capturing() as buffer:
        if resets:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _warn_here()
        _warn_here()
        return sum(isinstance(one, BufferedWarning) for one in buffer.take())


@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("first_to_end", [0, 1])
def test_of_two_runs_at_once_one_that_ends_leaves_the_other_as_it_is(
    monkeypatch: pytest.MonkeyPatch, first_to_end: int, resets: bool
):
    registry: dict[Any, Any] = {}
    monkeypatch.setitem(globals(), "__warningregistry__", registry)
    with listening() as heard:
        _warn_here()
        shown = dict(registry)
        runs = [allowing_capture_here(), allowing_capture_here()]
        for run in runs:
            run.__enter__()
        assert _captured(resets=resets) == 1
        runs.pop(first_to_end).__exit__(None, None, None)
        _warn_here()
        assert _captured(resets=False) == 1
        runs.pop().__exit__(None, None, None)
        _warn_here()
        assert [text for _, text, *_ in heard] == ["the same"]
        assert {**registry, "version": 0} == {**shown, "version": 0}
        assert not any(isinstance(one, Shown) for one in registry.values())


functions = st.sets(st.sampled_from(ALL)).map(frozenset)
one_pass: st.SearchStrategy[Pass] = st.one_of(
    st.builds(Warn, functions, st.sampled_from(["the same", "on {}"])),
    st.builds(CatchOn, functions, records=st.booleans()),
)


@pytest.mark.slow
@law_on(2)
@given(
    runs=st.lists(st.lists(one_pass, min_size=1, max_size=5), min_size=1, max_size=3),
    functions=st.integers(1, len(ALL)),
    action=st.sampled_from(["default", "always", "once", "module"]),
    asking=st.sampled_from([HERE, IN_BOTH]),
)
def test_they_are_those_of_the_serial_run(
    runner: Runner,
    runs: list[list[Pass]],
    functions: int,
    action: str,
    asking: float,
):
    runs, mod = [*runs, *runs], program(*range(functions))
    serial = heard_of(runs, mod, action=action)
    assert heard_of(runs, mod, runner, action=action, asking=asking) == serial
