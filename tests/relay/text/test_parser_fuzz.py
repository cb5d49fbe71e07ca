"""Damaged text gives a module or an error with a place, whatever the damage."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import ParseError
from parpass.relay.text.printer import astext
from tests.support.deep import DEEPEST
from tests.support.texts import decorated_modules

HANDWRITTEN = """#[version = "0.0.5"]
#[attrs(target="llvm", opts={"k": [1, -2.5f, None, True]})]
def @main<A>(%x: Tensor[(1, ?), float32], %f: fn <B>(A, (B,)) -> (), Inline=1) -> A {
  // a comment
  let %y: (int32, ()) = nn.conv2d(%x, 1f, padding=[1, 1, 1, 1], out_dtype="float32");
  %0 = if (%x < %y.0) { -%y.1 * 2i64 /* and more */ } else { @f<int8, (A,)>(%x) };
  %1 = fn (%p) { %"odd name" = (%p, ()); %"odd name" + %0 };
  %1(meta[relay.Constant][0], meta[relay.Constant][1])
}

def @f<A, B>(%x) { { let %z = True; (%z == %x, 0.5f16, -3) } }
#[metadata]
{"relay.Constant": [
{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="},
{"dtype": "int64", "shape": [4, 5], "repeat": "AQAAAAAAAAA="}
]}
"""
PIECES = re.findall(r'"[^"\n]*"|[\w.%@]+|\s+|[^\w\s]', HANDWRITTEN)

_TOKENS = st.sampled_from(PIECES)


@st.composite
def damaged(draw: st.DrawFn, pieces: list[str]) -> str:
    """Give a text in which some pieces are lost, doubled, swapped or others."""
    pieces = list(pieces)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        other = draw(st.integers(0, len(pieces) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                pieces[at] = ""
            case 1:
                pieces[at] *= 2
            case 2:
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case 3:
                pieces[at] = draw(_TOKENS)
            case _:
                pieces[at] = draw(st.text(max_size=3))
    return "".join(pieces)


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
@settings(deadline=None, max_examples=150)
def test_damaged_tokens(text: str):
    is_read_or_refused(text)


@given(damaged(list(HANDWRITTEN)))
@settings(deadline=None, max_examples=150)
def test_damaged_characters(text: str):
    is_read_or_refused(text)


@given(decorated_modules().flatmap(lambda module: damaged(list(astext(module)))))
@settings(deadline=None, max_examples=30)
def test_damaged_prints(text: str):
    is_read_or_refused(text)


@given(st.text(max_size=30) | st.lists(_TOKENS, max_size=20).map(" ".join))
@settings(deadline=None, max_examples=100)
def test_any_text(text: str):
    is_read_or_refused(text)


def test_what_is_opened_without_end():
    for piece in ("(", "{", "fn (", "if (", "-", "[", "/*", "{ let %x = ", "abs(", '"'):
        is_read_or_refused(piece * (DEEPEST // 100))
    for piece in ("(", "fn (", "[", "{1: "):
        is_read_or_refused(f"fn (k={piece * (DEEPEST // 100)}")
        is_read_or_refused(f"fn (%x: {piece * (DEEPEST // 100)}")
