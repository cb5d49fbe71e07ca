"""What is known of a pass beforehand is checked where it is written down."""

from __future__ import annotations

from typing import Any

import pytest

from parpass.errors import ArgumentError
from parpass.transform import PassInfo


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("2", "Fold"), "expected an int for opt_level of pass 'Fold', got '2'"),
        (("Fold", 2), r"got 'Fold'; write PassInfo\(2, 'Fold'\)"),
        ((2, 7), "expected a str for a pass's name, got 7"),
        ((2, "Fold", "InferType"), "write \\['InferType'\\]"),
        ((2, "Fold", 7), "7 is not iterable"),
        ((2, "Fold", [7]), "expected names in required, got 7"),
    ],
)
def test_arguments_of_a_pass_info_of_the_wrong_kind_are_refused(
    arguments: tuple[Any, ...], complaint: str
):
    with pytest.raises(ArgumentError, match=complaint):
        PassInfo(*arguments)
