"""A function is pickled without its module."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from parpass.transform.member_codec import MemberCodec


class Module:
    def __init__(self) -> None:
        self.large = list(range(1000))


class Function:
    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.ops = [parent]


@pytest.fixture
def known() -> Module:
    return Module()


@pytest.fixture
def codec(known: Module) -> MemberCodec:
    codec = MemberCodec()
    codec.note(known)
    return codec


def test_it_is_decoded_into_the_module_that_is_given(codec: MemberCodec, known: Module):
    encoded = codec.encode(Function(known))
    assert len(encoded) < 500
    assert codec.cuts
    other = Module()
    found = codec.decode(encoded, other)
    assert found.parent is other
    assert found.ops == [other]


def test_a_module_that_is_a_part_of_a_function_goes_with_it(
    codec: MemberCodec, known: Module
):
    nested = Module()
    nested.large = [7]
    found = codec.decode(codec.encode(Function(nested)), Module())
    assert found.parent.large == [7]
    assert not codec.cuts


def test_it_is_known_only_as_long_as_it_lives(codec: MemberCodec):
    mod = Module()
    codec.note(mod)
    assert codec.knows(mod)
    alive = weakref.ref(mod)
    del mod
    assert alive() is None
    assert not codec.knows(Module())


def test_a_module_without_weak_references_goes_with_its_functions(codec: MemberCodec):
    mod = {"f": 1}
    codec.note(mod)
    assert codec.decode(codec.encode(Function(mod)), {}).parent == {"f": 1}


def test_code_without_a_name_stays_in_this_process(codec: MemberCodec, known: Module):
    class Local(Function):
        pass

    function = Local(known)
    hook: Any = lambda: 3  # noqa: E731
    vars(function)["hook"] = hook
    found: Any = codec.decode(codec.encode_here(function), known)
    assert type(found) is Local
    assert vars(found)["hook"] is hook
    assert found is not function
    assert found.ops is not function.ops
