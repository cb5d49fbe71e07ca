"""Functions that can be changed are told from those that cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parpass.transform.mutability import FoundMutability


@dataclass(frozen=True)
class Frozen:
    ops: tuple[int, ...]


@dataclass
class Changeable:
    ops: list[int] = field(default_factory=list[int])


@given(st.lists(st.booleans(), max_size=300))
def test_changeable_names_are_those_of_functions_that_are_not_frozen(
    can_change: list[bool],
):
    functions: dict[str, Any] = {
        f"f{at}": Changeable([at]) if can else Frozen((at,))
        for at, can in enumerate(can_change)
    }
    mutability = FoundMutability()
    names = mutability.changeable(functions)
    assert names == [f"f{at}" for at, can in enumerate(can_change) if can]
    alone = FoundMutability()
    assert names == [
        name for name, one in functions.items() if not alone.is_frozen(one)
    ]
    assert mutability.changeable(functions) == names
