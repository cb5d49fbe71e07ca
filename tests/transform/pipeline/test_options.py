from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parpass.transform import Sequential, function_pass
from parpass.transform.pipeline import options_of, to_text
from tests.support.toy.ir import Fn, Program
from tests.support.toy.passes import AddFrom, FailOn, Keep

if TYPE_CHECKING:
    from decimal import Decimal


def described(factory: Any) -> list[str]:
    specs, _ = options_of(factory)
    return [
        f"{one.name}: {one.kind_text}{'!' if one.is_needed else f' = {one.default!r}'}"
        for one in specs.values()
    ]


def test_options_are_the_constructors_arguments():
    assert described(AddFrom) == ["other: str!"]
    assert described(FailOn)[0] == "number: int!"
    assert described(Keep) == []
    assert described(Sequential) == [
        "opt_level: int = 0",
        "name: str = 'sequential'",
        "required: collections.abc.Sequence[str] | None = None",
    ]


def test_decorated_classes_have_those_of_the_class():
    @function_pass(opt_level=1)
    class Scale:
        def __init__(self, by: int = 2) -> None:
            self.by = by

        def transform_function(self, func: Fn, mod: Program, ctx: Any) -> Fn:
            return func

    assert described(Scale) == ["by: int = 2"]


def test_a_factory_may_take_any():
    def make(a: Decimal, **others: Any) -> Keep:
        return Keep()

    specs, takes_any = options_of(make)
    assert takes_any
    assert specs["a"].kind is Any
    assert specs["a"].default is inspect.Parameter.empty
    assert options_of(dict[str, Any])[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, "null"),
        (-3, "-3"),
        (1e-05, "1e-05"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (float("-nan"), "-nan"),
        ("-nan", '"-nan"'),
        (-0.0, "-0.0"),
        (np.float64(1.5), "1.5"),
        ("word.with-1/these:*", "word.with-1/these:*"),
        ("true", '"true"'),
        ("1", '"1"'),
        ("two words", '"two words"'),
        ("", '""'),
        ([], "[]"),
        ([1], "[1]"),
        ((1, "a"), "1,a"),
        ([[1, 2], ["x"]], "[[1,2],[x]]"),
    ],
)
def test_values_have_a_text(value: Any, text: str):
    assert to_text(value) == text


def test_others_have_none():
    with pytest.raises(ValueError, match="a type has no text"):
        to_text(ValueError)
