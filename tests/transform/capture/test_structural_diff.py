"""A diff by structure shows what changed, and not that values were numbered anew."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.transform.capture.structural_diff import FunctionDiffs, structural_diff

BEFORE = """\
def @main(%x) {
  %0 = load(%x);
  %1 = square(%0);
  %2 = load(%x);
  %3 = negative(%2);
  %4 = add(%1, %3);
  %5 = sqrt(%4);
  exp(%5)
}"""


def changed(before: str, after: str) -> list[str]:
    """Return the lines of a diff that are no context, and no header."""
    return [
        line for line in structural_diff(before, after).split("\n") if line[0] in "-+"
    ]


def test_what_stays_keeps_its_name():
    after = """\
def @main(%x) {
  %0 = load(%x);
  %1 = square(%0);
  %2 = negative(%0);
  %3 = add(%1, %2);
  %4 = sqrt(%3);
  exp(%4)
}"""
    assert structural_diff(BEFORE, after, context=1) == (
        "@@ -3,4 +3,3 @@\n"
        "   %1 = square(%0);\n"
        "-  %2 = load(%x);\n"
        "-  %3 = negative(%2);\n"
        "+  %3 = negative(%0);\n"
        "   %4 = add(%1, %3);"
    )


def test_what_takes_the_place_of_a_value_has_its_name():
    after = BEFORE.replace("square(%0)", "multiply(%0, %0)").replace("%", "%v")
    assert changed(BEFORE, after) == [
        "-  %1 = square(%0);",
        "+  %1 = multiply(%0, %0);",
    ]


def test_a_new_value_has_a_name_that_is_free():
    lines = BEFORE.split("\n")
    numbers = [(f"%{number}", f"%{number + 1}") for number in range(5, 1, -1)]
    after = BEFORE
    for old, new in numbers:
        after = after.replace(old, new)
    after = after.replace("  %3 =", "  %2 = cube(%1);\n  %3 =").replace(
        "add(%1", "add(%2"
    )
    assert lines[5] == "  %4 = add(%1, %3);"
    assert changed(BEFORE, after) == [
        "+  %6 = cube(%1);",
        "-  %4 = add(%1, %3);",
        "+  %4 = add(%6, %3);",
    ]


def test_a_name_that_nothing_else_has_stays():
    before, after = "f(%x)\ng(%x)\nh(%x)", "f(%x) /* int */\ng(%x) /* int */"
    assert [line for line in changed(before, after) if line[0] == "+"] == [
        "+f(%x) /* int */",
        "+g(%x) /* int */",
    ]


def test_the_order_of_operands_is_a_difference():
    after = BEFORE.replace("add(%1, %3)", "add(%3, %1)")
    assert changed(BEFORE, after) == ["-  %4 = add(%1, %3);", "+  %4 = add(%3, %1);"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('%0 = f("%1")', '%0 = f("%2")', id="in a string"),
        pytest.param("%0 = f() % x", "%0 = % x f()", id="no name"),
        pytest.param("f2 = g(x1)", "f2 = h(x1)", id="an operator"),
        pytest.param("a1 = b2(3)", "a1 = b3(3)", id="a call"),
        pytest.param("  a", "    a", id="indentation"),
    ],
)
def test_other_words_are_no_names(before: str, after: str):
    assert changed(before, after) == [f"-{before}", f"+{after}"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('%0 = f(%"a b")\ng(%0)', '%1 = f(%"c d")\ng(%1)'),
        ("t1 = f(x)\nt2 = g(t1)", "t4 = f(x)\nt9 = g(t4)"),
        ("let v_1: int32 = 3;\nv_1", "let v_2: int32 = 3;\nv_2"),
        ("f(meta[relay.Constant][3])", "f(meta[relay.Constant][0])"),
        ("if {\n  a\n}", "if {\n      a\n}"),
    ],
)
def test_names_and_the_indentation_in_braces_are_no_difference(before: str, after: str):
    assert structural_diff(before, after) == (
        "  names of values differ, or the layout, and nothing else"
    )


def test_of_equal_texts_it_says_so():
    assert "large constants" in structural_diff(BEFORE, BEFORE)


def test_an_added_and_a_removed_text_have_every_line():
    assert structural_diff("", "a\nb") == "@@ -0,0 +1,2 @@\n+a\n+b"
    assert structural_diff("a\nb", "") == "@@ -1,2 +0,0 @@\n-a\n-b"


def test_thousands_of_equal_lines_are_compared():
    lines = ["%0 = f()"] * 4000
    after = [*lines[:1000], "%0 = g()", *lines[1000:3999]]
    assert "+%0 = g()" in structural_diff("\n".join(lines), "\n".join(after))


PROGRAMS = st.lists(
    st.tuples(st.sampled_from("fgh"), st.lists(st.integers(0, 9), max_size=2)),
    max_size=12,
)
Program = Sequence[tuple[str, Sequence[int]]]


def text_of(program: Program, names: Sequence[str]) -> str:
    """Return a program, each line of which reads some of those before it."""
    lines: list[str] = []
    for at, (operator, read) in enumerate(program):
        operands = ", ".join(names[at - 1 - of] for of in read if of < at)
        lines.append(f"{names[at]} = {operator}({operands})")
    return "\n".join(lines)


NUMBERED = [f"%{at}" for at in range(12)]


@given(PROGRAMS, st.permutations(NUMBERED))
def test_other_names_are_no_change(program: Program, names: Sequence[str]):
    diff = structural_diff(text_of(program, NUMBERED), text_of(program, names))
    assert not diff.startswith("@@")


def renumbered(text: str) -> str:
    """Return a text with its names in the order in which they come."""
    names: dict[str, str] = {}
    return re.sub(
        r"%\w+", lambda match: names.setdefault(match[0], f"%{len(names)}"), text
    )


@given(PROGRAMS, PROGRAMS)
def test_a_whole_diff_has_both_texts(one: Program, other: Program):
    before, after = text_of(one, NUMBERED), text_of(other, NUMBERED)
    diff = structural_diff(before, after, context=100)
    if not diff.startswith("@@"):
        assert renumbered(before) == renumbered(after)
        return
    _, *lines = diff.split("\n")
    assert "\n".join(line[1:] for line in lines if line[0] != "+") == before
    new = "\n".join(line[1:] for line in lines if line[0] != "-")
    assert renumbered(new) == renumbered(after)


# Some are the beginning of others, or like words that may be names of values.
FUNCTIONS = st.permutations(["f", "f1", "f10", "g2", "x", "a.b1"])
OTHERS = st.lists(st.sampled_from(["@f10", "@f", "f1", "%f", "x", "\1", "@\1$"]))


@given(PROGRAMS, PROGRAMS, FUNCTIONS, OTHERS)
def test_a_diff_that_is_made_for_functions_alike_is_that_of_their_texts(
    one: Program, other: Program, functions: Sequence[str], others: Sequence[str]
):
    diffs = FunctionDiffs()
    for names in (NUMBERED, [f"x{at}" for at in range(12)]):
        for function in functions:
            before, after = (
                f"def @{function}() {{\n{text_of(program, names)}\n"
                f"call @{function}({', '.join(others)})\n}}"
                for program in (one, other)
            )
            diff = diffs.diff(function, before, after)
            assert diff == structural_diff(before, after)


OPERATORS = st.permutations(["f", "g", "h", "nn.f", "f"])


@given(PROGRAMS, PROGRAMS, st.lists(OPERATORS, max_size=3))
def test_a_diff_that_is_made_for_lines_alike_is_that_of_their_texts(
    one: Program, other: Program, meanings: list[list[str]]
):
    diffs = FunctionDiffs()
    for meaning in meanings:
        called = dict(zip("fgh", meaning, strict=False))
        before, after = (
            text_of([(called[name], read) for name, read in program], NUMBERED)
            for program in (one, other)
        )
        assert diffs.diff("f", before, after) == structural_diff(before, after)
