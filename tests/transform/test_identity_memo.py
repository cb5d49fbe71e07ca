"""A memo by identity knows each object as long as it lives, and keeps none alive."""

from __future__ import annotations

import weakref

from hypothesis import given
from hypothesis import strategies as st

from parpass.transform.identity_memo import IdentityMemo


class Thing:
    """Equal to all others."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    def __hash__(self) -> int:
        return 0


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans())))
def test_values_are_those_of_living_objects(actions: list[tuple[int, bool]]):
    memo, things, values = IdentityMemo[int](), dict[int, Thing](), dict[int, int]()
    for at, (slot, dies) in enumerate(actions):
        things.pop(slot, None)
        values.pop(slot, None)
        if not dies:  # it often gets the number of one that is gone
            things[slot] = Thing()
            assert memo.get(things[slot]) is None
            assert memo.put(things[slot], at)
            values[slot] = at
        assert {slot: memo.get(one) for slot, one in things.items()} == values


def test_an_object_is_not_kept_alive():
    memo, thing = IdentityMemo[int](), Thing()
    memo.put(thing, 1)
    gone = weakref.ref(thing)
    del thing
    assert gone() is None


def test_what_has_no_weak_references_is_not_known():
    memo, number = IdentityMemo[int](), 12345
    assert not memo.put(number, 1)
    assert memo.get(number) is None
