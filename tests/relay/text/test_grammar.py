"""The parser and a grammar read by lark agree on what a text is, and what it means."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.diagnostic import Span
from parpass.errors import ParseError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.text.printer import astext
from tests.support.damaged import HANDWRITTEN, PIECES, PRINTED, damaged, pieces
from tests.support.drawn import DECORATED, MODULES
from tests.support.lark_text import parser as lark_text
from tests.support.profiles import examples

LINES = pieces(PRINTED)

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


def spans(module: IRModule) -> list[Span | None]:
    """Return the spans of all that a module consists of, in one order."""
    functions = module.functions_by_name.values()
    nodes = [*module, *(node for one in functions for node in post_order(one))]
    return [getattr(node, "span", None) for node in nodes]


def is_read_alike(text: str) -> bool:
    """Check that both read a text, to the same module, or both refuse it.

    Returns:
        Whether they read it.
    """
    try:
        expected = lark_text.parse(text)
    except ParseError:
        with pytest.raises(ParseError):
            relay.parse(text)
        return False
    parsed = relay.parse(text)
    assert astext(parsed) == astext(expected)  # which shows what is shared, too
    assert spans(parsed) == spans(expected)
    assert parsed.sources == expected.sources
    return True


@given(DECORATED)
@examples(0.75)
def test_printed_modules_are_read_alike(module: IRModule):
    assert is_read_alike(astext(module))


@pytest.mark.slow
@given(MODULES)
@examples(1)
def test_printed_programs_are_read_alike(module: IRModule):
    assert is_read_alike(astext(module))


@pytest.mark.slow
@given(MODULES)
@examples(0.5)
def test_typed_programs_are_read_alike(module: IRModule):
    typed = relay.transform.InferType()(module)
    assert is_read_alike(astext(typed))


@given(damaged(PIECES) | damaged(LINES) | damaged(list(PRINTED)))
@examples(3.75)
def test_damaged_texts_are_read_alike(text: str):
    is_read_alike(text)


@given(st.sampled_from([PIECES, LINES]), st.floats(0, 1), st.sampled_from(INSERTED))
@examples(5)
def test_texts_with_something_between_are_read_alike(
    pieces: list[str], share: float, inserted: str
):
    at = int(share * len(pieces))
    is_read_alike("".join([*pieces[:at], inserted, *pieces[at:]]))


@given(st.lists(st.sampled_from(INSERTED), max_size=6).map(" ".join))
@examples(7.5)
def test_any_tokens_are_read_alike(text: str):
    is_read_alike(f"free_var %x; free_var %y; {text}")


@pytest.mark.stress
def test_many_damaged_texts_are_read_alike():
    rng = random.Random(0)
    texts, accepted = 3_000, 0
    for _ in range(texts):
        pieces = list(rng.choice([PIECES, LINES, LINES]))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(pieces))
            pieces[at] = rng.choice(["", pieces[at] * 2, *INSERTED])
        accepted += is_read_alike("".join(pieces))
    assert accepted > texts // 50  # a text is seldom sound that is damaged


@pytest.mark.parametrize("text", [HANDWRITTEN, PRINTED])
def test_the_texts_that_are_damaged_are_read_alike(text: str):
    assert is_read_alike(text)
