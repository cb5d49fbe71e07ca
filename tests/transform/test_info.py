import pickle
from typing import Any

import pytest

from parpass.errors import ArgumentError
from parpass.transform import PassInfo


@pytest.mark.parametrize("nothing", [None, (), []])
def test_required_is_never_none(nothing: Any):  # 1.3
    assert PassInfo(opt_level=1, name="Fold", required=nothing).required == ()


def test_text_names_the_pass():  # 1.6
    assert str(PassInfo(1, "x", ("a",))) == (
        "transform.PassInfo(opt_level=1, name=\"x\", required=('a',))"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("2", "Fold"), "expected an int for opt_level of pass 'Fold', got '2'"),
        ((2, 7), "expected a str for a pass's name, got 7"),
        ((2, "Fold", "InferType"), "write \\['InferType'\\]"),
        ((2, "Fold", 7), "7 is not iterable"),
        ((2, "Fold", [7]), "expected names in required, got 7"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(
    arguments: tuple[Any, ...], complaint: str
):
    with pytest.raises(ArgumentError, match=complaint):
        PassInfo(*arguments)


def test_survives_pickling():
    info = pickle.loads(pickle.dumps(PassInfo(3, "Fold", ("a",))))
    assert (info.opt_level, info.name, info.required) == (3, "Fold", ("a",))
