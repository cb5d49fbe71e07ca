"""The part of an adapter by which the command reads programs, and its defaults."""

from __future__ import annotations

import pytest

from parpass.errors import ParseError
from parpass.transform import register_adapter, registered_programs
from parpass.transform.program_format import first_difference
from tests.support.registering import registering_for_a_while
from tests.support.toy.ir import Program, ToyAdapter, program


class NamedAdapter(ToyAdapter):
    ir_name = "toy"


def test_without_a_method_to_parse_it_is_said_which_is_missing():
    with pytest.raises(ParseError) as caught:
        NamedAdapter().parse("", "file")
    assert str(caught.value) == (
        "programs of IR 'toy' cannot be read: NamedAdapter has no method "
        "'parse(text, source_name)'"
    )


def test_a_module_is_written_as_its_string_and_sized_by_its_functions():
    mod, adapter = program(1, 2), NamedAdapter()
    assert adapter.astext(mod) == str(mod)
    assert adapter.program_slice(mod, "f0").text.count("\n") == 1
    assert adapter.module_size(mod) == (2, 4)
    assert adapter.reduction_patterns() == ()
    assert adapter.programs(mod) is adapter


def test_an_adapter_with_a_name_is_known_by_it():
    assert "" not in registered_programs()
    adapter = NamedAdapter()
    with registering_for_a_while():
        register_adapter(Program, adapter)
        assert registered_programs()["toy"] is adapter
    assert "toy" not in registered_programs()


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("a\n  b\n", "a\n  c\n", "line 2: 'b' and 'c'"),
        ("a\n  b\n", "a\nb\n", "line 2: '  b\\n' and 'b\\n'"),
        ("a\n", "a", "line 1: 'a\\n' and 'a'"),
        ("a\n", "a\nb\n", "line 2: '' and 'b'"),
        ("a\n", "a\n", None),
    ],
)
def test_the_first_line_in_which_texts_differ_shows_what_differs(
    one: str, other: str, difference: str | None
):
    assert first_difference(one, other) == difference
