"""Small work stays in this process, whatever an IR says of its size."""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from parpass.diagnostic import Diagnostic
from parpass.errors import SlowerRunWarning, UnpicklablePassWarning
from parpass.runner import Runner
from parpass.runner.placing.costs import COSTS
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    register_adapter,
)
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.ending import EndAtStart
from tests.support.signed_ir import SignedProgram, stated
from tests.support.talking import LOGGER, NumberWarning, listening
from tests.support.toy_ir import Fn, Program, ToyAdapter, program, values_of
from tests.support.toy_pipelines import Seen, see


@dataclasses.dataclass(frozen=True)
class SizelessProgram(Program):
    """A module whose functions have no size."""


class SizelessAdapter(ToyAdapter):
    """Handles them."""

    def size(self, function: Fn, limit: int) -> int:
        return 0


register_adapter(SizelessProgram, SizelessAdapter())


class NeverMeasured(FunctionPass):
    """Adds 1; no other test runs it, so what it costs is to be found out."""

    pass_info = PassInfo(0, "NeverMeasured")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + 1 for value in func.values)


def test_functions_without_a_size_can_be_run(runner: Runner):
    mod = SizelessProgram(program(1, 2, 3).functions)
    after = runner.run_sync(mod, NeverMeasured())
    assert values_of(after) == values_of(program(2, 3, 4))


# The first function is run here, and the second one is known to be too much for that.
BIG = Fn((0,) * 5000)
BEGUN_HERE = {ASKING_WORKERS_SECONDS: 0.02}


def begun_here(*others: int, second: Fn = BIG) -> SignedProgram:
    """Return a module of which a pass is run here on the first function, no more."""
    functions = {f"f{at}": Fn((value,)) for at, value in enumerate(others, 2)}
    return SignedProgram({"f0": Fn((0,)), "f1": second, **functions})


class Telling(FunctionPass):
    """Logs, counts, says something and warns on each function; changes some.

    Where it runs in this process it takes down on what.
    """

    pass_info = PassInfo(0, "Telling")
    here: ClassVar[list[str]] = []

    def __init__(self, *changing: str) -> None:
        self.changing = changing

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        name = str(ctx.function_name)
        self.here.append(name)
        logging.getLogger(LOGGER).info("on %s", name)
        warnings.warn(f"of {name}", NumberWarning, stacklevel=1)
        ctx.count("functions")
        assert ctx.diag_ctx is not None
        ctx.diag_ctx.emit(Diagnostic.note(None, f"saw {name}"))
        if name not in self.changing:
            return func
        first, *rest = func.values
        return func.with_values([first + 1, *rest])


class TellingMore(Telling):
    """Appends what the second function states, too."""

    pass_info = PassInfo(0, "TellingMore")

    def transform_function(self, func: Fn, mod: Any, ctx: PassContext) -> Fn:
        func = super().transform_function(func, mod, ctx)
        return func.with_values((*func.values, stated(mod, "f1")))


class Unsendable(Telling):
    """Cannot be sent to a worker."""

    pass_info = PassInfo(0, "Unsendable")

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Unreturnable(Telling):
    """Makes the second function one that cannot be sent back, in a worker."""

    pass_info = PassInfo(0, "Unreturnable")

    def __init__(self) -> None:
        super().__init__()
        self.process = os.getpid()

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        func = super().transform_function(func, mod, ctx)
        lock: Any = threading.Lock()
        is_due = ctx.function_name == "f1" and os.getpid() != self.process
        return func.with_values((lock,)) if is_due else func


def unloadable() -> Pass:
    """Return a pass that workers cannot load."""
    made: Any = EndAtStart("raise", os.getpid())
    return made


PIPELINES: dict[str, Callable[[], list[Pass]]] = {
    "a callee that changes": lambda: [Telling("f1"), TellingMore()],
    "one that is begun here changes": lambda: [Telling("f0"), TellingMore("f1")],
    "a first pass that cannot be sent": lambda: [Unsendable(), Telling()],
    "a second pass that cannot be sent": lambda: [Telling(), Unsendable(), Telling()],
    "a pass that cannot be loaded": lambda: [Telling(), unloadable(), Telling()],
    "a function that cannot be sent back": lambda: [Telling(), Unreturnable()],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", PIPELINES)
def test_what_is_begun_here_and_goes_on_otherwise_is_heard_once(
    what: str, runner: Runner
):
    COSTS.forget(PIPELINES[what]())
    heard: list[Any] = []
    seen: list[Seen] = []

    def in_parallel(root: Pass, mod: Any) -> Any:
        return runner.run_sync(mod, root)

    for run in (None, in_parallel):
        root = Sequential(PIPELINES[what]())
        with listening() as told:
            settings = {"config": BEGUN_HERE}
            seen.append(see(root, begun_here(3, 4), run=run, settings=settings))
        ours = (UnpicklablePassWarning, SlowerRunWarning)
        heard.append([one for one in told if not set(one) & {*ours}])
    assert seen[0] == seen[1]
    assert heard[0] == heard[1]
