import importlib
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parpass.errors import PipelineSyntaxError
from parpass.transform import Sequential, parse_pipeline
from parpass.transform.pipeline.grammar import MAX_FAULTS, read_items
from tests.support.cpu_time import cpu_limit

importlib.import_module("tests.support.toy.passes")  # registers them

SIGNS = list("(){}[],=1\"'\\<é \n\x00")
PIECES = [*SIGNS, "Add", "toy.Keep", "sequential", "amount", "name"]


def complaint(text: str) -> str:
    with pytest.raises(PipelineSyntaxError) as caught:
        read_items(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "column 1: expected a pass name, got the end\n  \n  ^"),
        ("Add,", "column 5: expected a pass name, got the end\n  Add,\n      ^"),
        ("Add,,B", "column 5: expected a pass name, got ','\n  Add,,B\n      ^"),
        (
            "Add Keep",
            "column 5: expected ',', '{', '(' or the end, got 'Keep'\n  Add Keep\n    ",
        ),
        ("A{b=1", "column 6: expected an option name, ',' or '}', got the end"),
        ("A{b=}", "column 5: expected a value or '[', got '}'"),
        ("A{b=[}", "column 6: expected a value, '[' or ']', got '}'"),
        ("A(B", "column 4: expected ')', got the end"),
        (
            "A{=1}",
            "column 3: expected an option name or '}', got '='; options are separ",
        ),
        (
            "A{b=1, c=2}",
            "column 9: expected an option name, ',' or '}', got '='; options are s",
        ),
        (
            "A<b=1;c>",
            "column 2: expected ',', '{', '(' or the end, got '<'; options are writ",
        ),
        ('A{b="x}', "column 5: expected a value or '[', got '\"'; a string ends with"),
        (r'A{b="\x"}', "column 5: expected a value or '[', got '\"'; a string ends w"),
    ],
)
def test_text_that_is_not_of_the_grammar_is_refused_with_the_place(
    text: str, expected: str
):
    assert complaint(text).startswith(expected)


def test_what_is_wrong_in_other_passes_is_said_too():
    assert complaint("A{=1},B c,D<x=1>,E") == (
        "column 3: expected an option name or '}', got '='; options are separated by "
        "blanks, and lists by commas\n  A{=1},B c,D<x=1>,E\n    ^\n"
        "column 9: expected ',', '{', '(' or the end, got 'c'\n"
        "  A{=1},B c,D<x=1>,E\n          ^\n"
        "column 12: expected ',', '{', '(' or the end, got '<'; options are written in "
        "braces, as in 'Name{option=value}'\n"
        "  A{=1},B c,D<x=1>,E\n             ^"
    )


def test_of_a_long_line_a_part_is_shown():
    text = f"{'A' * 100},!,{'B' * 100}"
    start = f"  ...{'A' * 35},!,{'B' * 34}...\n"
    assert complaint(text).splitlines()[1:] == [start.rstrip(), f"  {' ' * 39}^"]


@pytest.mark.parametrize("text", ["sequential(" * 101 + ")" * 101, f"A{{b={'[' * 200}"])
def test_nesting_has_a_bound(text: str):
    closed = text if text.endswith(")") else f"{text}{']' * 200}}}"
    assert "nested more than 100 deep" in complaint(closed)


def test_a_hundred_levels_are_read():
    assert isinstance(parse_pipeline("sequential(" * 100 + ")" * 100), Sequential)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text())
@example("sequential(" * 5000)
def test_any_text_is_a_pipeline_or_an_error_with_places(text: str):
    faults = None
    try:
        parse_pipeline(text)
    except PipelineSyntaxError as error:
        faults = error.faults
    assert faults != ()
    for line, column, _message in faults or ():
        assert 1 <= line <= text.count("\n") + 1
        assert 1 <= column <= len(text.split("\n")[line - 1]) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["Add,", "!", "Add{A", "Add B ", "sequential(", "\n", "Nope,Add{x},Add,"]
)
def test_time_is_linear_in_the_text(piece: str):
    def seconds(times: int) -> float:
        began = time.process_time()
        with pytest.raises(PipelineSyntaxError):
            parse_pipeline(piece * times)
        return time.process_time() - began

    seconds(100)
    long = min(seconds(8000), seconds(8000))
    assert long < 40 * max(seconds(500), 0.002)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["amount=1 ", "x=1 ", f"{'x' * 9}=1 "])
def test_options_that_are_wrong_take_no_longer_together(option: str):
    with cpu_limit(10), pytest.raises(PipelineSyntaxError) as caught:
        parse_pipeline(f"Add{{{option * 10_000}}}")
    assert len(caught.value.faults or ()) == MAX_FAULTS


def test_a_message_quotes_no_more_than_a_part_of_a_long_value():
    listed = ",".join(["x"] * 5_000)
    with pytest.raises(PipelineSyntaxError, match="expected int") as caught:
        parse_pipeline(f"sequential{{opt_level={listed}}}(Add)")
    assert len(str(caught.value)) < 2_000


def test_a_short_text_is_read_once_and_a_long_one_is_not_kept():
    assert read_items("Add{amount=7}") is read_items("Add{amount=7}")
    long = ",".join(["Add"] * 1_000)
    assert read_items(long) is not read_items(long)
    assert complaint("Add,") == complaint("Add,")


def test_passes_are_made_anew_of_a_text_that_was_read_before():
    first, second = parse_pipeline("Add"), parse_pipeline("Add")
    assert first.passes[0] is not second.passes[0]
