"""What the body of a function pass can see is the same wherever it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from parpass import IRModule, PassContext, relay
from parpass.diagnostic import Diagnostic
from parpass.errors import PassContextError
from parpass.instrument import PassTimingInstrument
from parpass.runner import Runner
from parpass.transform import FunctionPass, PassInfo, Sequential
from tests.runner.reading import ReadOnce, ValueProgram
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, Keep

pytestmark = pytest.mark.each_executor

PLACES = {"here": HERE, "at once": {}, "workers": POOLED}

Look = Callable[[Program, PassContext], int]


class See(FunctionPass):
    """Appends a number that it is shown."""

    pass_info = PassInfo(0, "See")

    def __init__(self, look: Look) -> None:
        self.look = look

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, self.look(mod, ctx)))


def of_mapping(mapping: Mapping[str, Fn]) -> int:
    whole: Any = mapping
    joined = [*whole.copy(), *(whole | {"x": 1}), *({"y": 1} | whole)]
    return len(joined) + int(next(reversed(whole)).removeprefix("f"))


def said_before(_mod: Program, ctx: PassContext) -> int:
    assert ctx.diag_ctx is not None
    ctx.diag_ctx.emit(Diagnostic.note(None, "seen"))
    return len(ctx.diag_ctx.diagnostics)


LOOKS: dict[str, tuple[Look, int]] = {
    "instruments": (lambda _, ctx: len(ctx.instruments), 0),
    "statistics": (lambda _, ctx: len(ctx.statistics), 0),
    "what was said": (said_before, 1),
    "all functions": (lambda mod, _: of_mapping(mod.functions), 4 + 5 + 5 + 3),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("place", [*PLACES, "serially"])
def test_a_body_sees_the_same_everywhere(runner: Runner, place: str, look: str):
    see, expected = LOOKS[look]
    root = Sequential([Add(1), Keep(), See(see)])
    context = PassContext(
        instruments=[PassTimingInstrument()], config=PLACES.get(place)
    )
    with context:
        mod = program(1, 2, 3, 4)
        after = root(mod) if place == "serially" else runner.run_sync(mod, root)
        assert "Add" in context.statistics
    assert {values[-1] for values in values_of(after).values()} == {expected}


@pytest.mark.parametrize("place", [*PLACES, "serially"])
def test_a_body_cannot_override_instruments_which_may_be_elsewhere(
    runner: Runner, place: str
):
    def override(_mod: Program, ctx: PassContext) -> int:
        ctx.override_instruments([])
        return 0

    root, mod = See(override), program(1)
    with PassContext(config=PLACES.get(place)), pytest.raises(PassContextError):
        root(mod) if place == "serially" else runner.run_sync(mod, root)


class TakeSpan(FunctionPass):
    """Writes down where a global variable comes from."""

    pass_info = PassInfo(0, "TakeSpan")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        return func.with_attr("seen", str(mod.get_global_var("g").span))


def test_global_variables_have_their_spans_in_workers(runner: Runner):
    text = (
        "def @main(%x: Tensor[(2), float32]) {\n  @g(%x)\n}\n"
        "def @g(%x: Tensor[(2), float32]) {\n  negative(%x)\n}\n"
    )
    mod = relay.parse(text)
    expected = str(mod.get_global_var("g").span)
    assert ":2:" in expected
    after = runner.run_sync(mod, TakeSpan(), context=PassContext(config=POOLED))
    for function in after.functions_by_name.values():
        assert function.attrs is not None
        assert function.attrs["seen"] == expected


@pytest.mark.parametrize("place", [*PLACES, "serially"])
def test_a_function_is_the_object_that_was_read_before(runner: Runner, place: str):
    # More than a worker decodes at once.
    values = tuple(range(1_000))
    mod = ValueProgram({f"f{at}": Fn((at, *values)) for at in range(100)})
    root = ReadOnce(os.urandom(8).hex())
    with PassContext(config=PLACES.get(place)):
        after = root(mod) if place == "serially" else runner.run_sync(mod, root)
    assert after == mod
