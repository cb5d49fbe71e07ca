import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any, cast

import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
import pytest

from parpass.errors import ArgumentError
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    Sequential,
    function_pass,
    module_pass,
)
from tests.support.toy_ir import Fn, Program, program
from tests.support.toy_passes import Keep

Decorator = Callable[..., Any]

both = pytest.mark.parametrize("decorator", [module_pass, function_pass])


@module_pass(opt_level=1)
def keep(mod: Program, ctx: PassContext) -> Program:
    return mod


@function_pass(opt_level=1)
def double(func: Fn, mod: Program, ctx: PassContext) -> Fn:
    return func.with_values(2 * value for value in func.values)


@function_pass(opt_level=2, required=[Keep.pass_info.name])
class Times:
    """Multiplies."""

    kind = "multiplication"

    def __init__(self, factor: int, *, offset: int = 0) -> None:
        self.factor = factor
        self.offset = offset

    def doubled(self) -> int:
        return 2 * self.factor

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


@both
def test_a_missing_level_is_refused_at_once(decorator: Decorator):  # 5.11
    kind = "module" if decorator is module_pass else "function"
    message = f"please provide opt_level for the {kind} pass"
    with pytest.raises(ValueError, match=message):
        decorator(keep.pass_func)
    with pytest.raises(ValueError, match=message):
        decorator()


@both
@pytest.mark.parametrize("required", ["Add", {"Add"}, 7])
def test_required_must_be_a_list_or_a_tuple(decorator: Decorator, required: Any):
    with pytest.raises(ArgumentError, match="expected a list or a tuple"):  # 5.12
        decorator(opt_level=1, required=required)


@both
@pytest.mark.parametrize("nothing", [None, [], ()])
def test_nothing_required_is_an_empty_tuple(decorator: Decorator, nothing: Any):
    made = decorator(keep.pass_func, opt_level=1, required=nothing)
    assert made.info.required == ()


@both
@pytest.mark.parametrize(
    ("name", "expected"), [(None, "<lambda>"), ("", "<lambda>"), ("Given", "Given")]
)
def test_the_name_is_the_given_or_the_callables(
    decorator: Decorator, name: str | None, expected: str
):  # 5.14
    made = decorator(lambda *args: args[0], opt_level=1, name=name)  # pyright: ignore[reportUnknownLambdaType]
    assert made.info.name == expected


@both
def test_a_callable_without_a_name_needs_one(decorator: Decorator):  # 5.14
    with pytest.raises(AttributeError):
        decorator(functools.partial(print), opt_level=1)


def test_any_callable_is_accepted():  # 5.15
    def times(factor: int, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(factor * value for value in func.values)

    made = function_pass(functools.partial(times, 3), opt_level=1, name="Triple")
    assert made(program(2)) == program(6)


@both
def test_something_that_cannot_be_called_is_refused(decorator: Decorator):  # 5.15
    with pytest.raises(ArgumentError, match="expected a callable or a class for"):
        decorator(7, opt_level=1, name="x")


def test_arity_is_not_checked_before_the_call():  # 5.16
    made = module_pass(lambda: None, opt_level=1)
    with pytest.raises(TypeError, match="positional argument"):
        made(program())


def test_a_class_becomes_a_class_of_passes():  # 5.17
    made: list[Any] = [Times, Reverse]
    assert issubclass(made[0], FunctionPass)
    assert issubclass(made[1], ModulePass)
    assert Times(3, offset=1)(program(2)) == program(7)
    assert list(Reverse()(program(1, 2)).functions) == ["f1", "f0"]


def test_the_class_form_keeps_name_and_docs():  # 5.18
    assert Times.__name__ == "Times"
    assert Times.__doc__ == "Multiplies."
    assert Times.__module__ == __name__
    assert list(inspect.signature(Times).parameters) == ["factor", "offset"]


def test_attributes_read_through_to_the_inner_instance():  # 5.18
    times = Times(3)
    assert times.factor == 3
    assert times.doubled() == 6
    with pytest.raises(AttributeError, match="'Times' object has no attribute 'nope'"):
        _ = times.nope


def test_attributes_written_stay_outside():  # 5.18
    times: Any = Times(3)
    times.factor = 5
    assert times.factor == 5
    assert times(program(1)) == program(3)


def test_class_attributes_of_the_user_class_are_not_on_the_class():  # 5.18
    assert not hasattr(Times, "kind")
    assert Times(1).kind == "multiplication"


def test_one_info_is_shared_by_all_instances():  # 5.19
    first, second = Times(1), Times(2)
    assert isinstance(first, Pass)
    assert isinstance(second, Pass)
    assert first.info is second.info
    assert (first.info.name, first.info.opt_level) == ("Times", 2)
    assert first.info.required == ("Keep",)
    assert Reverse().info.name == "Reverse"


def test_a_class_without_the_method_fails_when_run():  # 5.20
    empty = cast("Callable[[], Any]", type("Empty", (), {}))
    made: Any = module_pass(empty, opt_level=1)
    with pytest.raises(AttributeError, match="transform_module"):
        made()(program())


def test_decorated_passes_work_in_a_sequential():
    assert Sequential([double, Times(3)])(program(1)) == program(6)


@pytest.mark.parametrize("a_pass", [double, Times(3)])
def test_decorated_passes_survive_cloudpickle(a_pass: Any):
    copy = pickle.loads(cloudpickle.dumps(a_pass))  # pyright: ignore[reportUnknownMemberType]
    assert copy(program(2)) == a_pass(program(2))
    assert copy.info.name == a_pass.info.name
