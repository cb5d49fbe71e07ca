"""What is printed of a pass's error: the user's call, then the user's body."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from parpass.errors import FunctionTimeoutError, PassInputError, PassResultError
from parpass.instrument import PassInstrument
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
    module_pass,
)
from tests.support.toy.ir import Fn, Program, checked_program, program
from tests.support.toy.passes import Add, FailOn, FailWhole, Keep, ReturnWrong


@function_pass(opt_level=0)
def fail(func: Fn, mod: Program, ctx: PassContext) -> Fn:
    return deeper()


@module_pass(opt_level=0)
def fail_whole(mod: Program, ctx: PassContext) -> Program:
    return deeper()


@function_pass(opt_level=0)
class Failing:
    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return deeper()


def deeper() -> Any:
    raise ValueError("it cannot be")


class ByPass(ModulePass):
    """Calls another pass in its body."""

    pass_info = PassInfo(0, "ByPass")

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return self.inner(mod)


class FailingHook(PassInstrument):
    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        deeper()


def caught(run: Callable[[], Any]) -> BaseException:
    try:
        run()
    except BaseException as error:  # noqa: BLE001 -- it is looked at
        return error
    raise AssertionError("nothing was raised")


def frames(error: BaseException) -> list[str]:
    """Return the functions in a traceback, below the call in `caught`."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return names[1:] if names[0] == "caught" else names


@pytest.mark.parametrize(
    ("a_pass", "expected"),
    [
        (FailOn(1), ["transform_function"]),
        (FailWhole(), ["transform_module"]),
        (fail, ["fail", "deeper"]),
        (fail_whole, ["fail_whole", "deeper"]),
        (Failing(), ["transform_function", "deeper"]),
        (Sequential([Keep(), Sequential([FailOn(1)])]), ["transform_function"]),
        (ByPass(fail), ["transform_module", "fail", "deeper"]),
    ],
)
def test_the_call_is_followed_by_the_body(a_pass: Any, expected: list[str]):
    error = caught(lambda: a_pass(program(1)))
    assert frames(error) == ["<lambda>", *expected]


def test_under_a_budget_and_on_some_functions_it_is_the_same():
    config = {"parpass.function_timeout": 60.0, "parpass.opt_bisect": "2-"}
    with PassContext(config=config):
        error = caught(lambda: fail(program(1, 2)))
    assert frames(error) == ["<lambda>", "fail", "deeper"]


def test_of_an_instrument_the_hook_follows_the_call():
    with PassContext(instruments=[FailingHook()]):
        error = caught(lambda: Add()(program(1)))
    assert frames(error) == ["<lambda>", "run_before_pass", "deeper"]


def test_of_a_restoring_pass_the_body_follows_the_call():
    error = caught(lambda: Add(-9)(checked_program(1)))
    assert frames(error) == ["<lambda>", "transform_function"]


def test_what_a_body_did_wrong_is_told_at_the_call():
    error = caught(lambda: ReturnWrong()(program(1)))
    assert isinstance(error, PassResultError)
    assert frames(error) == ["<lambda>"]


def test_errors_that_no_body_raised_keep_their_frames():
    error = caught(lambda: Add()(7))
    assert isinstance(error, PassInputError)
    assert frames(error)[:2] == ["<lambda>", "__call__"]
    assert frames(error)[-1] == "adapter_for"


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PARPASS_FULL_TRACEBACKS", "1")
    names = frames(caught(lambda: fail(program(1))))
    assert names[:3] == ["<lambda>", "__call__", "run_serial"]
    assert names[-2:] == ["fail", "deeper"]
    assert len(names) > 10


class FromAnother(FunctionPass):
    """Raises from another error, in the handling of a third."""

    pass_info = PassInfo(0, "FromAnother")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        try:
            fail_whole(program())
        except ValueError as error:
            raise ExceptionGroup("several", [error, KeyError("x")]) from error
        return func


def test_causes_and_groups_begin_in_the_body():
    error = caught(lambda: FromAnother()(program(1)))
    assert frames(error) == ["<lambda>", "transform_function"]
    inner = error.__cause__
    assert isinstance(inner, ValueError)
    assert inner is getattr(error, "exceptions", (None,))[0]
    assert inner is error.__context__
    assert frames(inner) == ["transform_function", "fail_whole", "deeper"]


def test_of_an_error_that_has_a_bodys_for_a_cause_both_are_folded():
    slow = FailOn(1)
    slow.function_timeout = 1e-9
    error = caught(lambda: slow(program(1)))
    assert isinstance(error, FunctionTimeoutError)
    assert frames(error) == ["<lambda>"]
    assert error.__cause__ is not None
    assert frames(error.__cause__) == ["transform_function"]


def test_errors_linked_in_a_circle_are_folded_once():
    class Circle(ModulePass):
        pass_info = PassInfo(0, "Circle")

        def transform_module(self, mod: Program, ctx: PassContext) -> Program:
            one, other = ValueError(1), ValueError(2)
            one.__cause__, other.__cause__ = other, one
            raise one

    error = caught(lambda: Circle()(program()))
    assert frames(error) == ["<lambda>", "transform_module"]


@dataclass(frozen=True)
class Frozen(Exception):  # noqa: N818 -- a user's
    what: str

    def with_traceback(self, tb: Any) -> Any:
        raise AssertionError("it is nobody's business")


def test_errors_that_do_not_let_themselves_be_changed_are_folded():
    @module_pass(opt_level=0)
    def raise_frozen(mod: Program, ctx: PassContext) -> Program:
        raise Frozen("x")

    error = caught(lambda: raise_frozen(program()))
    assert frames(error) == ["<lambda>", "raise_frozen"]


def test_a_debugger_comes_to_the_body_and_from_there_up_to_the_call():
    error = caught(lambda: fail(program(1)))
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    assert tb is not None
    assert tb.tb_frame.f_code.co_name == "deeper"
    assert tb.tb_frame.f_back is not None
    assert tb.tb_frame.f_back.f_locals["func"] == Fn((1,))
