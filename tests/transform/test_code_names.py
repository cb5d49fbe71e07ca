"""What code names is known in one order, with what lazy statements delay."""

from __future__ import annotations

import json
import sys
import textwrap
import xml
import xml.dom.minidom
import xml.sax.saxutils
from typing import Any

import pytest

from parpass.transform.code_names import (
    LAZY_IMPORT,
    load_lazy_imports,
    named_globals,
    named_submodules,
)

# Before Python 3.15 these statements are not lazy, and nobody looks at the first line.
SOURCE = """
__lazy_modules__ = ["json", "xml.etree.ElementTree", "textwrap"]
import json
import xml.etree.ElementTree
from textwrap import indent

def function(text):
    def inner():
        return [indent(one, "") for one in xml.etree.ElementTree.fromstring(text)]
    return json.dumps(inner())
"""


@pytest.fixture
def function() -> Any:
    """Give a function of a program whose imports are lazy, where Python has that."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(SOURCE, "/of/a/program.py", "exec", dont_inherit=True), names)
    return names["function"]


def test_globals_are_named_in_order_with_those_of_inner_functions(function: Any):
    assert list(named_globals(function).items()) == [
        ("indent", textwrap.indent),
        ("json", json),
        ("xml", xml),
    ]
    assert not load_lazy_imports(function)


def test_submodules_are_those_that_code_names_of_what_a_function_has():
    around = xml

    def closing() -> Any:
        return lambda: around.dom.minidom

    def defaulting(one: Any = xml, *, two: Any = json) -> Any:
        class Inner:
            parts = one.sax.saxutils, two.decoder, two.loads

        return Inner

    assert {*named_submodules(closing)} == {xml.dom, xml.dom.minidom}
    assert {*named_submodules(defaulting)} == {
        *(xml.sax, xml.sax.saxutils, json.decoder)
    }
    assert named_submodules(lambda: around.no.such) == []  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportAttributeAccessIssue] -- not called


def test_a_variable_that_has_no_value_yet_has_no_submodules():
    def closing() -> Any:
        return late.dom

    assert named_submodules(closing) == []
    late = xml
    assert named_submodules(closing) == [xml.dom]


@pytest.mark.skipif(sys.version_info < (3, 15), reason="no statement is lazy")
def test_what_cannot_be_imported_stays_lazy():
    variables: dict[str, Any] = {}
    source = "lazy import no.such.module\nlazy import json\ndef function(): no, json"
    exec(source, variables)
    assert load_lazy_imports(variables["function"])
    assert variables["json"] is json
    assert type(variables["no"]) is LAZY_IMPORT
    assert not load_lazy_imports(variables["function"])
    with pytest.raises(ModuleNotFoundError):
        variables["function"]()
