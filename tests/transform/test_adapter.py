"""What the base class of adapters does where an IR does not know better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from parpass.transform import ModuleAdapter
from parpass.transform.adapter import FoundMutability


@dataclass(frozen=True)
class Words:
    functions: Mapping[str, str]
    title: str = ""


class WordsAdapter(ModuleAdapter):
    def functions(self, mod: Words) -> Mapping[str, str]:
        return mod.functions

    def with_functions(self, mod: Words, functions: Mapping[str, str]) -> Words:
        return replace(mod, functions=functions)

    def is_module(self, value: Any) -> bool:
        return isinstance(value, Words)

    def is_function(self, value: Any) -> bool:
        return isinstance(value, str)

    def size(self, function: str, limit: int) -> int:
        return min(len(function), limit)


class Stating(WordsAdapter):
    def signature(self, function: str) -> int | None:
        return len(function) or None


ADAPTER = WordsAdapter()
MOD = Words({"f": "one", "g": "two"}, "title")


def test_an_adapter_without_the_five_methods_cannot_be_made():
    kind: Any = ModuleAdapter
    with pytest.raises(TypeError) as caught:
        kind()
    needed = ("functions", "with_functions", "is_module", "is_function", "size")
    assert all(name in str(caught.value) for name in needed)
    assert ModuleAdapter.__abstractmethods__ == frozenset(needed)


def test_some_functions_are_replaced_and_keep_their_order():
    made = ADAPTER.replace_functions(MOD, {"f": "three"})
    assert list(made.functions.items()) == [("f", "three"), ("g", "two")]
    assert made.title == "title"
    assert MOD.functions["f"] == "one"


def test_what_is_to_be_read_has_the_very_mapping_that_it_is_given():
    functions = {"f": "other"}
    assert ADAPTER.read_only(MOD, functions, "Reader").functions is functions


def test_modules_and_functions_travel():
    shell = ADAPTER.decode_shell(ADAPTER.encode_shell(MOD))
    assert shell == Words({}, "title")
    encoded = ADAPTER.encode_function("one", lambda _: None)
    assert ADAPTER.decode_function(encoded, (), shell) == "one"


def test_differences_are_told_by_equality():
    assert ADAPTER.difference("one", "one") is None
    assert ADAPTER.difference("one", "two") == "'one' and 'two'"


def test_nothing_more_is_known_of_functions():
    assert not ADAPTER.is_skipped("one")
    assert ADAPTER.signature("one") is None
    assert ADAPTER.keeps_signature("one", "other")
    assert ADAPTER.faults("one", MOD) == ()
    assert ADAPTER.restoring_pass("") is None
    assert isinstance(ADAPTER.mutability, FoundMutability)


def test_a_signature_is_kept_if_it_is_equal_or_there_was_none():
    stating = Stating()
    assert stating.keeps_signature("one", "two")
    assert not stating.keeps_signature("one", "three")
    assert stating.keeps_signature("", "three")


def test_an_excerpt_is_all_of_the_module():
    assert (
        ADAPTER.program_slice(MOD, "f").text
        == ADAPTER.program_slice(MOD, None).text
        == str(MOD)
    )
