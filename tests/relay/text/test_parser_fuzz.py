"""Damaged text gives a module or an error with a place, whatever the damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import ParseError
from parpass.relay.text.printer import astext
from tests.support.damaged import HANDWRITTEN, PIECES, PRINTED, TOKENS, damaged, pieces
from tests.support.profiles import examples
from tests.support.relay.deep import DEEPEST
from tests.support.relay.texts import decorated_modules

# What a text may have in every place, where it mostly is an error.
INSERTED = [
    *("abs(%x)", "%x < %y == -1 + 2f", "-%x.0", "(%x, 1,)", "%x -1", "- -1"),
    *("@f<int8>(%x)", "fn <A>(%q: A) -> A { %q }", "{ let %k = 1; %k }", " <", "<"),
    *("(let %a = 1; %a)", "if (True) { 1 } else { 2 }(3)", "f(True=1)", "abs(None=1)"),
    *("nn.softmax(%x, axis=-1)", "clip(%x, a_min=-inff, a_max=2f)", "-inff", "inff"),
    *("k=[nanf(5), -nanf, -nanf(2)]", "nanf(0)", "nanf (1)", "nanf(1", "inff(1)"),
    *("k=[1, (int8,), {1: 2,},]", "k=meta", "k=1", "_", "True", "None", "Tensor"),
    *("Tensor[(1, ?,), int8]", "Tensor[(-1), int8]", "fn (int8) -> ()", "((int8))"),
    *("/* ty=int8 */", "/* /*", "*/ */", "1; 2", "--1", "- -1", "---1.5f", "int8x4"),
    *("let %a = abs(1 /* ty=int8 */) /* ty=int8 */;", "3000000000", ";", "_"),
    *("/*x*/", "//c\n", "/*", '"', "\\", "/", "def", "let", "fn", "else", "free_var"),
    *("%0", ".0", ".5", "1e5", "1f3", "@g", '@"a b"', '%"x"', "%", "@", "#[", "#"),
    *("=", "==", "->", "-", "?", ":", "!", "\t", "\n", "\r", "\x0b", "free_var %z;"),
    *("meta", "meta[relay.Constant][0]", "meta[relay.Constant]", "[", "]", "{", "}"),
]


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


@pytest.mark.parametrize("text", [HANDWRITTEN, PRINTED])
def test_the_texts_that_are_damaged_are_sound(text: str):
    is_read_or_refused(text)
    assert len(relay.parse(text)) == 2


@given(damaged(PIECES) | damaged(pieces(PRINTED)))
@examples(3.75)
def test_damaged_tokens(text: str):
    is_read_or_refused(text)


@given(damaged(list(HANDWRITTEN)) | damaged(list(PRINTED)))
@examples(3.75)
def test_damaged_characters(text: str):
    is_read_or_refused(text)


@given(decorated_modules().flatmap(lambda module: damaged(list(astext(module)))))
@examples(1.5)
def test_damaged_prints(text: str):
    is_read_or_refused(text)


@given(st.lists(st.sampled_from(INSERTED), max_size=6).map(" ".join))
@examples(5)
def test_any_pieces_of_texts(text: str):
    is_read_or_refused(f"free_var %x; free_var %y; {text}")


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
