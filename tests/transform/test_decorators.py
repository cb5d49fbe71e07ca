import pickle
from typing import Any

import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
import pytest

from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    Sequential,
    function_pass,
    module_pass,
)
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Keep


@module_pass(opt_level=1)
def keep(mod: Program, ctx: PassContext) -> Program:
    return mod


@function_pass(opt_level=1)
def double(func: Fn, mod: Program, ctx: PassContext) -> Fn:
    return func.with_values(2 * value for value in func.values)


@function_pass(opt_level=2, required=[Keep.pass_info.name])
class Times:
    """Multiplies."""

    def __init__(self, factor: int, *, offset: int = 0) -> None:
        self.factor = factor
        self.offset = offset

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(self.factor * v + self.offset for v in func.values)


@module_pass(opt_level=1)
class Reverse:
    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Program(dict(sorted(mod.functions.items(), reverse=True)))


def test_a_function_becomes_a_pass():  # 5.13, 5.16
    assert isinstance(keep, ModulePass)
    assert isinstance(double, FunctionPass)
    assert double(program(3)) == program(6)
    assert keep(program(3)) == program(3)


def test_the_first_argument_may_be_the_function():  # 5.13
    made = function_pass(double.pass_func, opt_level=0, name="D", required=("Add",))
    assert (made.info.name, made.info.opt_level, made.info.required) == (
        "D",
        0,
        ("Add",),
    )
    assert made(program(3)) == program(6)


def test_a_class_becomes_a_class_of_passes():  # 5.17
    made: list[Any] = [Times, Reverse]
    assert issubclass(made[0], FunctionPass)
    assert issubclass(made[1], ModulePass)
    assert Times(3, offset=1)(program(2)) == program(7)
    assert list(Reverse()(program(1, 2)).functions) == ["f1", "f0"]


def test_what_a_class_says_of_itself_holds_for_the_class_of_passes():
    @function_pass(opt_level=0)
    class Special:
        cost_follows_size = False
        function_kind = "special"

        def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
            return func

    made: Any = Special()
    assert (made.cost_follows_size, made.function_kind) == (False, "special")


def test_decorated_passes_work_in_a_sequential():
    assert Sequential([double, Times(3)])(program(1)) == program(6)


@pytest.mark.parametrize("a_pass", [double, Times(3)])
def test_decorated_passes_survive_cloudpickle(a_pass: Any):
    copy = pickle.loads(cloudpickle.dumps(a_pass))  # pyright: ignore[reportUnknownMemberType]
    assert copy(program(2)) == a_pass(program(2))
    assert copy.info.name == a_pass.info.name
