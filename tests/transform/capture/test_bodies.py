"""Which body runs now is told before it begins, and after it ended."""

from __future__ import annotations

from parpass.transform import FunctionPass, ModulePass, PassContext, PassInfo
from parpass.transform.capture.bodies import ActiveBody, observing_bodies
from tests.support.toy.ir import Fn, Program, program


class Keep(FunctionPass):
    """Returns what it is given; raises on number 3."""

    pass_info = PassInfo(0, "Keep")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if func.values == (3,):
            raise ValueError("three")
        return func


class Around(ModulePass):
    """Runs Keep in its body."""

    pass_info = PassInfo(0, "Around")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Keep()(mod)


def told_of(pass_: FunctionPass | ModulePass, mod: Program) -> list[ActiveBody | None]:
    """Return what is told while a pass runs."""
    told: list[ActiveBody | None] = []
    with observing_bodies(told.append):
        try:
            pass_(mod)
        except ValueError:
            told.append(("raised", None))
    return told


def test_each_function_is_told_and_then_nothing():
    assert told_of(Keep(), program(1, 2)) == [
        ("Keep", "f0"),
        None,
        ("Keep", "f1"),
        None,
    ]


def test_after_a_body_inside_of_another_one_the_outer_one_goes_on():
    around = ("Around", None)
    assert told_of(Around(), program(1)) == [around, ("Keep", "f0"), around, None]


def test_what_raised_is_left_too():
    assert told_of(Keep(), program(3)) == [("Keep", "f0"), None, ("raised", None)]


def test_nothing_is_told_outside():
    with observing_bodies(lambda place: None):
        pass
    assert told_of(Keep(), program(1))[-1] is None
    Keep()(program(1))


def test_all_that_observe_are_told():
    outer: list[ActiveBody | None] = []
    with observing_bodies(outer.append):
        inner = told_of(Keep(), program(1))
    assert outer == inner == [("Keep", "f0"), None]
