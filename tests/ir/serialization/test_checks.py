from __future__ import annotations

from typing import Any, Literal

import pytest

from parpass.ir.serialization.checks import check_of


@pytest.mark.parametrize(
    ("annotation", "fits", "misfits"),
    [
        (int, 1, True),
        (float, 1, "1"),
        (tuple[int, ...], (1, 2), (1, "2")),
        (tuple[int, str], (1, "a"), (1,)),
        (int | None, None, "1"),
        (list[int], (1, 2), 3),
    ],
)
def test_values_fit_their_annotations(annotation: Any, fits: Any, misfits: Any):
    check = check_of(annotation)
    assert check(fits) is None
    assert check(misfits) is not None


def test_an_annotation_that_cannot_be_checked_takes_every_value():
    assert check_of(Literal["a", "b"])("c") is None
