"""Tables of test cases of which some are run each time and all in the long form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest


def by_turns(
    names: tuple[str, str], values: Sequence[object], others: Sequence[object]
) -> pytest.MarkDecorator:
    """Run a test for each value, and for each other one, but not for all pairs.

    The first value meets the first of the others, the second the second, and so on
    in turn; the pairs that are left are long forms.

    Args:
        names: The parameters of the test that are given the two.
        values: The values, no fewer than the others.
        others: The other ones.
    """
    assert len(values) >= len(others)
    cells = [
        pytest.param(value, other, marks=() if is_turn else pytest.mark.stress)
        for at, value in enumerate(values)
        for turn, other in enumerate(others)
        for is_turn in [at % len(others) == turn]
    ]
    return pytest.mark.parametrize(names, cells)


def at_times(
    name: str, each_time: Sequence[object], others: Sequence[object]
) -> pytest.MarkDecorator:
    """Run a test for some values each time, and for the others in the long form.

    Args:
        name: The parameter of the test, or several, as `parametrize` has them.
        each_time: The values that show what the others would, too.
        others: The other ones.
    """
    long = [pytest.param(*_parts(value), marks=pytest.mark.stress) for value in others]
    return pytest.mark.parametrize(name, [*each_time, *long])


def _parts(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
