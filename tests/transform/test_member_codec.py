"""A function is pickled without its module."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

from parpass.transform.adapter import keep_inline
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
    encoded = codec.encode_function(Function(known), keep_inline)
    assert len(encoded) < 500
    assert codec.cuts
    other = Module()
    found = codec.decode_function(encoded, (), other)
    assert found.parent is other
    assert found.ops == [other]


def test_a_module_that_is_a_part_of_a_function_goes_with_it(
    codec: MemberCodec, known: Module
):
    nested = Module()
    nested.large = [7]
    encoded = codec.encode_function(Function(nested), keep_inline)
    found = codec.decode_function(encoded, (), Module())
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
    encoded = codec.encode_function(Function(mod), keep_inline)
    assert codec.decode_function(encoded, (), {}).parent == {"f": 1}


def test_code_without_a_name_stays_in_this_process(codec: MemberCodec, known: Module):
    class Local(Function):
        pass

    function = Local(known)
    hook: Any = lambda: 3  # noqa: E731
    vars(function)["hook"] = hook
    found: Any = codec.decode_function(codec.encode_here(function), (), known)
    assert type(found) is Local
    assert vars(found)["hook"] is hook
    assert found is not function
    assert found.ops is not function.ops


def of_main(name: str, **attributes: Any) -> type[Any]:
    """Return a class as one that a program defines, which others cannot import."""
    return type(name, (Function,), {"__module__": "__main__", **attributes})


def test_a_class_that_others_cannot_import_is_in_a_batch_once(codec: MemberCodec):
    kind, part = of_main("Kind", text="x" * 5000), of_main("Part")
    encode = codec.open_encoder(keep_inline)
    chunks = [encode(kind(part(at))) for at in range(20)]
    assert len(chunks[0]) > 5000
    assert all(len(one) < 200 for one in chunks[1:])
    assert encode.shared_bytes > len(chunks[0]) - 200
    decode = codec.open_decoder(b"".join(chunks), (), None)
    found = [decode() for _ in chunks]
    assert [one.parent.parent for one in found] == list(range(20))
    assert {type(one) for one in found} == {kind}
    assert {type(one.parent) for one in found} == {part}


@pytest.mark.parametrize("kind", [Function, of_main("Main")])
def test_functions_of_a_batch_share_nothing_but_classes(
    codec: MemberCodec, known: Module, kind: type[Any]
):
    shared = [1]
    encode = codec.open_encoder(keep_inline)
    packed = b"".join(encode(kind([shared, shared, known])) for _ in range(2))
    decode, other = codec.open_decoder(packed, (), known), Module()
    first, second = decode().parent, decode().parent
    assert first[0] is first[1]
    assert first[0] is not second[0]
    assert first[2] is second[2] is known
    assert codec.open_decoder(packed, (), other)().parent[2] is other


def test_a_class_that_cannot_be_pickled_is_not_taken_for_one_that_was(
    codec: MemberCodec,
):
    bad = of_main("Bad", lock=threading.Lock())
    encode = codec.open_encoder(keep_inline)
    for _ in range(2):
        with pytest.raises(TypeError, match="lock"):
            encode(bad(None))
