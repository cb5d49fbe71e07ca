"""What the base class of adapters does where an IR does not know better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from parpass.errors import AdapterError
from parpass.transform import ModuleAdapter
from parpass.transform.adapter_attributes import check_attributes
from parpass.transform.mutability import FoundMutability


@dataclass(frozen=True)
class Words:
    functions: Mapping[str, str]
    title: str = ""


class WordsAdapter(ModuleAdapter):
    module_type = Words
    function_type = str

    def size(self, function: str, limit: int) -> int:
        return min(len(function), limit)


class Stating(WordsAdapter):
    def signature(self, function: str) -> int | None:
        return len(function) or None


ADAPTER = WordsAdapter()
MOD = Words({"f": "one", "g": "two"}, "title")


def test_an_adapter_without_a_size_cannot_be_made():
    kind: Any = ModuleAdapter
    with pytest.raises(TypeError, match=r"abstract method '?size"):
        kind()


NO_DATACLASS = (
    "expected a dataclass with a field 'functions' from 'module_type', got class list; "
    "for other modules, override 'functions' and 'with_functions'"
)


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({}, "expected the class of modules from 'module_type', got None; set it, or"),
        ({"module_type": MOD}, "the class of modules from 'module_type', got Words"),
        ({"module_type": list, "function_type": str}, NO_DATACLASS),
        ({"module_type": Words}, "union of classes, from 'function_type', got None; s"),
        ({"module_type": Words, "function_type": "str"}, "'function_type', got str 's"),
    ],
)
def test_a_type_that_is_not_set_or_that_does_not_fit_is_an_error(
    attributes: dict[str, Any], told: str
):
    adapter = type("Own", (ModuleAdapter,), {"size": len, **attributes})()
    with pytest.raises(AdapterError) as caught:
        check_attributes(adapter)
    assert told in str(caught.value)


def test_types_are_not_needed_where_the_methods_are_overridden():
    kind: Any = type("Own", (ModuleAdapter,), {"size": len})
    for name in ("functions", "with_functions", "is_module", "is_function"):
        setattr(kind, name, len)
    check_attributes(kind())


def test_functions_may_be_of_several_classes():
    class Several(WordsAdapter):
        function_type = str | bytes

    assert [Several().is_function(one) for one in ("", b"", 1)] == [True, True, False]


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
