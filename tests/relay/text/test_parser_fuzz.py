"""Damaged text gives a module or an error with a place, whatever the damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import ParseError
from parpass.relay.text.printer import astext
from tests.support.damaged import HANDWRITTEN, PIECES, TOKENS, damaged
from tests.support.deep import DEEPEST
from tests.support.profiles import examples
from tests.support.texts import decorated_modules


def is_read_or_refused(text: str) -> None:
    try:
        module = relay.parse(text)
    except ParseError as error:
        refused = error
    else:
        printed = astext(module)
        assert astext(relay.parse(printed)) == printed
        return
    assert refused.diagnostics
    for found in refused.diagnostics:
        assert 1 <= found.span.line <= text.count("\n") + 1
        assert found.span.column >= 1
        assert str(found.span) in str(refused)


def test_the_text_that_is_damaged_is_sound():
    is_read_or_refused(HANDWRITTEN)
    assert len(relay.parse(HANDWRITTEN)) == 2


@given(damaged(PIECES))
@examples(3.75)
def test_damaged_tokens(text: str):
    is_read_or_refused(text)


@given(damaged(list(HANDWRITTEN)))
@examples(3.75)
def test_damaged_characters(text: str):
    is_read_or_refused(text)


@given(decorated_modules().flatmap(lambda module: damaged(list(astext(module)))))
@examples(1.5)
def test_damaged_prints(text: str):
    is_read_or_refused(text)


@given(st.text(max_size=30) | st.lists(TOKENS, max_size=20).map(" ".join))
@examples(2.5)
def test_any_text(text: str):
    is_read_or_refused(text)


def test_what_is_opened_without_end():
    for piece in ("(", "{", "fn (", "if (", "-", "[", "/*", "{ let %x = ", "abs(", '"'):
        is_read_or_refused(piece * (DEEPEST // 100))
    for piece in ("(", "fn (", "[", "{1: "):
        is_read_or_refused(f"fn (k={piece * (DEEPEST // 100)}")
        is_read_or_refused(f"fn (%x: {piece * (DEEPEST // 100)}")


@pytest.mark.parametrize(
    "piece",
    [
        *('"\\', '%"', '%"\\"', '@"', "/*", "/*/", "/**", "/* */", "// \n", "$ "),
        *('%0 = abs("', "/*\ndef @f() { 1 }\n*/", "\n#[metadata]", " ", "1"),
    ],
)
def test_tokens_that_do_not_end_take_time_in_proportion(piece: str):
    for beginning in ("", "{ %0 = abs(", "fn (k="):
        is_refused(beginning + piece * (100_000 // len(piece)) + ")")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("(", "{", "[", "-", "1 + ", "abs(", "abs(k=1, ", "fn () { ", "%0 = abs("),
        *("let %x = ", "def @f() { ) }\n", "def @f() { (\n", "def f\n", "Tensor[("),
    ],
)
def test_parts_that_do_not_end_take_time_in_proportion(piece: str):
    for beginning in ("", "fn (%x: ", "fn (k=", "{ %0 = abs("):
        is_refused(beginning + piece * (20_000 // len(piece)))


def is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        relay.parse(text)
