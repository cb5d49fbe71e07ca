"""Where a long text is cut shows nowhere: not in modules, spans or errors."""

from __future__ import annotations

import itertools

import pytest

from parpass import relay
from parpass.errors import ParseError
from parpass.ir.text.lexer import chunk_at

FIRST_CUT = 1 << 16  # characters, about
COUNT = 3000  # functions, which are longer


def functions(count: int) -> list[str]:
    """Return functions, each of which calls the next one, in a line each."""
    return [f"def @f{at}() {{ @f{(at + 1) % count}() }}\n" for at in range(count)]


def test_functions_before_and_after_a_cut_are_of_one_module():
    lines = functions(COUNT)
    module = relay.parse("".join(lines))
    assert len(module) == len(lines)
    for at, (name, function) in enumerate(module.functions_by_name.items()):
        assert name == f"f{at}"
        assert function.body.op is module.get_global_var(f"f{(at + 1) % len(lines)}")
        assert function.span.line == function.body.span.line == at + 1
        assert function.body.span.column == lines[at].index("@", 5) + 1


def cuts(text: str) -> list[int]:
    """Return where a text is cut, its end included."""
    found: list[int] = [0]
    while found[-1] < len(text):
        found.append(chunk_at(text, found[-1]).end)
    return found[1:]


def test_a_text_is_cut_before_functions():
    text = "".join(functions(COUNT))
    *inner, end = cuts(text)
    assert inner
    assert end == len(text)
    assert all(text.startswith("def @", cut) for cut in inner)


@pytest.mark.parametrize("opening", ["/*", "/* */ /*"])
def test_no_text_is_cut_within_a_comment(opening: str):
    lines = functions(COUNT)
    text = "".join([opening, "\n", *lines, "*/\n", *lines])
    comment_end = text.rindex("*/")
    assert all(cut > comment_end for cut in cuts(text))
    assert len(relay.parse(text)) == len(lines)


def test_a_comment_that_does_not_end_is_found_once():
    lines = functions(COUNT)
    with pytest.raises(ParseError) as caught:
        relay.parse("".join([*lines, "def @g() { /*\n", *lines[1:]]))
    first = caught.value.diagnostics[0]
    assert first.message.endswith("got a comment that does not end")
    assert first.span.line == len(lines) + 1


def test_an_error_beside_a_cut_is_where_it_is():
    lines = functions(COUNT)
    lengths = itertools.accumulate(map(len, lines))
    at_cut = next(at for at, end in enumerate(lengths) if end >= FIRST_CUT)
    for at in range(at_cut - 1, at_cut + 2):
        broken = [*lines]
        broken[at] = f"def @f{at}() {{ (1\n"
        with pytest.raises(ParseError) as caught:
            relay.parse("".join(broken))
        (found,) = caught.value.diagnostics
        assert found.message == "expected ')' or ',', got 'def'"
        assert (found.span.line, found.span.column) == (at + 2, 1)


def test_names_of_one_piece_mean_nothing_in_the_next():
    lines = functions(COUNT)
    with pytest.raises(ParseError, match="no variable named '%x'"):
        relay.parse("".join(["def @g(%x) { %x }\n", *lines, "def @h() { %x }\n"]))
