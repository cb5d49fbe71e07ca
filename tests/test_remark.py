from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from parpass.diagnostic import Span
from parpass.errors import ArgumentError
from parpass.remark import MAX_TEXT_CHARS, Remark, RemarkKind
from parpass.transform import PassContext
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add
from tests.support.watching import Log, RemarkLog

SPAN = Span("source", 3, 3, 5, 9)


class Remarking(Add):
    """Makes one remark, of the arguments."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(0)
        self.args, self.values = args, values

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.remark(*self.args, **self.values)
        return func


def made(*args: Any, **values: Any) -> Remark:
    """Return the remark that a pass makes by these arguments."""
    log = RemarkLog()
    with PassContext(instruments=[log]):
        Remarking(*args, **values)(program(1))
    (remark,) = log.remarks
    return remark


def test_a_remark_says_which_pass_made_it_on_which_function() -> None:
    assert made("missed", "not merged", SPAN, name="NotMerged", users=2) == Remark(
        RemarkKind.MISSED, "Add", "f0", "NotMerged", "not merged", SPAN, {"users": 2}
    )
    assert made(RemarkKind.PASSED, "merged").name == "Passed"
    assert made("passed", "merged", function="other").function == "other"


def test_its_text_has_the_values() -> None:
    assert made("analysis", "no rule", users=2, op="add").text == (
        "no rule (users=2, op=add)"
    )
    assert made("analysis", "no rule").text == "no rule"


def test_values_become_numbers_and_texts_that_any_process_can_read() -> None:
    class Bad:
        def __str__(self) -> str:
            raise KeyError("no text")

    given = {
        "a": np.int32(3),
        "b": Fraction(1, 2),
        "c": float("nan"),
        "d": (1, "x"),
        "e": Bad(),
        "f": None,
        "g": np.bool_(True),
    }
    remark = made("passed", "done", **given)
    plain = {"a": 3, "b": 0.5, "c": "nan", "d": "(1, 'x')", "e": "<Bad>", "f": None}
    assert remark.values == {**plain, "g": "True"}
    assert pickle.loads(pickle.dumps(remark)) == remark


def test_what_is_too_long_is_cut_and_says_so() -> None:
    remark = made("passed", "x" * 100_000, body="y" * (MAX_TEXT_CHARS + 1))
    assert remark.message == "x" * MAX_TEXT_CHARS + "... (cut, of 100000 characters)"
    assert str(remark.values["body"]).endswith("... (cut, of 2001 characters)")
    assert made("passed", "x" * MAX_TEXT_CHARS).message == "x" * MAX_TEXT_CHARS


@pytest.mark.parametrize("kind", ["mised", 3, ["passed"]])
def test_another_kind_is_an_error_watched_or_not(kind: Any) -> None:
    wanted = r"expected 'passed', 'missed' or 'analysis' for the kind of a remark, got"
    for instruments in ([], [RemarkLog()]):
        with (
            PassContext(instruments=instruments),
            pytest.raises(ArgumentError, match=wanted) as caught,
        ):
            Remarking(kind, "")(program(1))
        assert ("did you mean 'missed'?" in str(caught.value)) is (kind == "mised")


def test_passes_learn_whether_remarks_are_wanted() -> None:
    assert not PassContext().remarks_enabled
    assert not PassContext(instruments=[Log()]).remarks_enabled
    context = PassContext(instruments=[Log(), RemarkLog()])
    assert context.remarks_enabled
    assert pickle.loads(pickle.dumps(context)).remarks_enabled
    context.override_instruments([Log()])
    assert not context.remarks_enabled


def test_outside_of_passes_nothing_is_remarked() -> None:
    log = RemarkLog()
    with PassContext(instruments=[log]) as context:
        context.remark("passed", "done")
    assert not log.remarks
