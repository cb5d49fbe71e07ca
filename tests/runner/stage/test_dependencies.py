"""Some passes ask for signatures of other functions, and some change them.

It is tried on a toy IR: what a function states is its first number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner import open_runner
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential
from parpass.transform.checked_adapter import checked
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import Fn, ReadOnlyProgram
from tests.support.toy.pipelines import see
from tests.support.toy.signed_ir import Change, SignedAdapter, SignedProgram, stated

FUNCTIONS = 5
NAMES = [f"f{at}" for at in range(FUNCTIONS)]
Asks = Mapping[str, list[str]]  # by function, those that it asks for


class Signed(FunctionPass):
    """Does something with what others state."""

    pass_info = PassInfo(0, "Signed")

    def __init__(self, asks: Asks) -> None:
        self.asks = asks

    def transform_function(
        self, func: Fn, mod: ReadOnlyProgram, ctx: PassContext
    ) -> Fn:
        names = self.asks.get(str(ctx.function_name), [])
        if not names:
            return func
        found = sum(self.asked(mod, name) for name in names)
        ctx.count("found", found)
        if found > 12:
            raise ValueError(f"{found} is too much")
        first, *rest = func.values or (0,)
        return func.with_values([first + found % 3 % 2, *rest, found])

    def asked(self, mod: ReadOnlyProgram, name: str) -> int:
        return stated(mod, name)


class Remembering(Signed):
    """Asks for what it does not remember, with the module."""

    def asked(self, mod: ReadOnlyProgram, name: str) -> int:
        memory: dict[str, int] = vars(mod).setdefault("memory", {})
        if name not in memory:
            memory[name] = stated(mod, name)
        return memory[name]


class Analysing(Signed):
    """Remembers what all of the functions state, with the module."""

    def asked(self, mod: ReadOnlyProgram, name: str) -> int:
        if "analysis" not in vars(mod):
            vars(mod)["analysis"] = {each: stated(mod, each) for each in mod.functions}
        return vars(mod)["analysis"][name]


class Leaving(Remembering):
    """Leaves with the module what the function itself states, for the others."""

    def transform_function(
        self, func: Fn, mod: ReadOnlyProgram, ctx: PassContext
    ) -> Fn:
        memory: dict[str, int] = vars(mod).setdefault("memory", {})
        memory[str(ctx.function_name)] = func.values[0] if func.values else 0
        return super().transform_function(func, mod, ctx)


class Reading(Signed):
    """Reads the others."""

    def asked(self, mod: ReadOnlyProgram, name: str) -> int:
        return sum(mod[name].values[:1])


KINDS = (Signed, Remembering, Leaving, Analysing, Reading)

names = st.lists(st.sampled_from(NAMES), max_size=2)
asks = st.dictionaries(st.sampled_from(NAMES), names, max_size=4)
asking = st.one_of([st.builds(kind, asks) for kind in KINDS])
steps: st.SearchStrategy[Pass] = st.one_of(asking, asking, st.builds(Change, names))
values = st.lists(st.integers(0, 2), max_size=1).map(tuple)


@given(
    passes=st.lists(steps, min_size=2, max_size=6),
    first=st.lists(values, min_size=FUNCTIONS, max_size=FUNCTIONS),
    seed=st.integers(0, 2**32),
)
def test_serial_equals_parallel_whatever_is_read_and_changed(
    passes: list[Pass], first: list[tuple[int, ...]], seed: int
):
    mod = SignedProgram({n: Fn(v) for n, v in zip(NAMES, first, strict=True)})
    root, executor = Sequential(passes), ThreadExecutor(3, seed)
    runner = open_runner(executor=executor)

    def run(root: Pass, given_mod: Any) -> Any:
        return runner.run_sync(given_mod, root)

    try:
        parallel = see(root, mod, run=run, settings={"config": POOLED})
    finally:
        runner.close()
        executor.close()
    assert parallel == see(root, mod)


class Counted(Signed):
    """Takes down on which functions it is run, in this process."""

    runs: ClassVar[list[str]] = []

    def transform_function(
        self, func: Fn, mod: ReadOnlyProgram, ctx: PassContext
    ) -> Fn:
        self.runs.append(str(ctx.function_name))
        return super().transform_function(func, mod, ctx)


class CountedMemory(Remembering, Counted):
    """Remembers besides."""


@pytest.mark.parametrize("kind", [Counted, CountedMemory])
def test_of_many_only_true_callers_run_again(kind: type[Counted]):
    functions = {f"f{at}": Fn((0,)) for at in range(200)}
    callers = {f"f{at}": ["f0"] for at in (3, 77, 150)}
    others = {f"f{at}": ["f1", "f2"] for at in range(200) if at % 5 == 4}
    mod, executor = SignedProgram(functions), ThreadExecutor(2)
    passes = [Change(["f0"]), kind(callers | others)]
    Counted.runs.clear()
    with open_runner(executor=executor) as runner:
        after = runner.run_sync(mod, passes, context=PassContext(config=POOLED))
    executor.close()
    again = {name for name in functions if Counted.runs.count(name) > 1}
    assert again == {*callers}
    assert after == Sequential(passes)(mod)


def test_readers_inherit_dependencies_on_signatures():
    mod = SignedProgram({name: Fn((0,)) for name in NAMES})
    passes = [Signed({"f1": ["f0"]}), Reading({"f2": ["f1"], "f3": ["f1"]})]
    work = StageInterpreter(
        passes, PassContext(), checked(SignedAdapter()), mod, NAMES, mod.__getitem__
    )
    cursors = [FunctionCursor(name, at) for at, name in enumerate(NAMES)]
    for cursor in cursors:
        work.run([cursor])
    dependencies = [set(cursor.outcome.dependencies) for cursor in cursors]
    assert dependencies == [set(), {0}, {0}, {0}, set()]


@pytest.mark.parametrize("kind", [Remembering, Leaving, Analysing, Reading])
def test_what_is_left_with_a_module_brings_its_dependencies(kind: type[Signed]):
    mod = SignedProgram({name: Fn((1,)) for name in NAMES})
    others = {name: ["f0"] for name in NAMES[1:]}
    passes = [Change(["f4"]), Signed({"f0": ["f4"]}), kind(others)]
    executor = ThreadExecutor(1)
    with open_runner(executor=executor) as runner:
        after = runner.run_sync(mod, passes, context=PassContext(config=POOLED))
    executor.close()
    assert after == Sequential(passes)(mod)
