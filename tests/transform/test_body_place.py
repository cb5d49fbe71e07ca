"""Where the body of a pass is, in errors that are for who wrote it."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from parpass.errors import PassResultError
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassInfo,
    function_pass,
    module_pass,
)
from parpass.transform.body_place import place_of
from tests.support.toy.ir import program


def few(func: Any) -> Any:
    return func


def none(*_: Any) -> None:
    pass


def raising(func: Any, mod: Any, ctx: Any) -> Any:
    raise TypeError("of its own")


class OfClass:
    def transform_function(self, func: Any) -> Any:
        return func


class Called:
    def __call__(self, func: Any) -> Any:
        return func


class Subclass(FunctionPass):
    pass_info = PassInfo(0, "Subclass")

    def transform_function(self, func: Any) -> Any:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return func


class OnModules(ModulePass):
    pass_info = PassInfo(0, "OnModules")

    def transform_module(self, mod: Any) -> Any:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return mod


def line(function: Any) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno}"


of_function: Any = functools.partial(function_pass, opt_level=0)
of_module: Any = functools.partial(module_pass, opt_level=0)

WRONG: list[tuple[Any, Any, str]] = [
    (of_function(few), few, "(func, mod, ctx)"),
    (of_function(functools.partial(few), name="few"), few, "(func, mod, ctx)"),
    (of_function(OfClass)(), OfClass.transform_function, "(func, mod, ctx)"),
    (of_function(Called(), name="Called"), Called.__call__, "(func, mod, ctx)"),
    (Subclass(), Subclass.transform_function, "(func, mod, ctx)"),
    (OnModules(), OnModules.transform_module, "(mod, ctx)"),
    (of_module(few), few, "(mod, ctx)"),
]


@pytest.mark.parametrize(("a_pass", "body", "wanted"), WRONG)
def test_a_body_that_takes_other_arguments_is_told_with_its_place(
    a_pass: Pass, body: Any, wanted: str
):
    with pytest.raises(TypeError) as caught:
        a_pass(program(1, 2))
    told = f"the pass at {line(body)} is called with {wanted}"
    assert str(caught.value).endswith(told)
    assert "positional argument" in str(caught.value)


def test_an_error_of_the_body_itself_is_raised_as_it_is():
    with pytest.raises(TypeError, match="of its own") as caught:
        of_function(raising)(program(1))
    assert str(caught.value) == "of its own"


@pytest.mark.parametrize("make", [of_function, of_module])
def test_a_body_that_returns_nothing_is_asked_for_its_return(make: Any):
    with pytest.raises(PassResultError) as caught:
        make(none)(program(1))
    told = f"got NoneType; did you forget 'return' at {line(none)}?"
    assert str(caught.value).endswith(told)


def test_a_body_without_source_is_named_by_its_module():
    assert place_of(of_function(len, name="len")) == "module 'builtins'"
