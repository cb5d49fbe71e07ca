from typing import Any

import pytest

from parpass.errors import ArgumentError, PipelineSyntaxError, UnknownPassError
from parpass.transform import (
    ModulePass,
    PassInfo,
    Sequential,
    as_pass,
    parse_pipeline,
    register_pass,
)
from tests.support.toy_passes import Add, Keep


@register_pass("toy.Options")
class Options(ModulePass):
    """Takes any options."""

    pass_info = PassInfo(0, "Options")

    def __init__(self, **options: Any) -> None:
        self.options = options


def options_of(text: str) -> dict[str, Any]:
    [a_pass] = parse_pipeline(text).passes
    assert isinstance(a_pass, Options)
    return a_pass.options


@pytest.mark.parametrize(
    "text", ["Add,Keep", " Add ,\n  Keep ", "toy.Add,Keep{}", "Add{ },Keep"]
)
def test_names_are_separated_by_commas(text: str):
    first, second = parse_pipeline(text).passes
    assert isinstance(first, Add)
    assert isinstance(second, Keep)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": 1}),
        ("a=-1.5", {"a": -1.5}),
        ("a=true b=false", {"a": True, "b": False}),
        ("flag", {"flag": True}),
        ("a=word", {"a": "word"}),
        ('a="two, words" b=1', {"a": "two, words", "b": 1}),
        ("kebab-case=1", {"kebab_case": 1}),
        ("  a=1   b=2  ", {"a": 1, "b": 2}),
    ],
)
def test_options_are_separated_by_blanks(text: str, expected: dict[str, Any]):
    assert options_of(f"Options{{{text}}}") == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected a pass name at column 1"),
        ("Add,", "expected a pass name at column 5:\n  Add,\n      ^"),
        ("Add,,Keep", "expected a pass name at column 5:\n  Add,,Keep\n      ^"),
        ("Add Keep", "expected ',' or the end at column 5:\n  Add Keep\n      ^"),
        ("Add{amount=1", "expected ',' or the end at column 4"),
        ("Add{=1}", "expected NAME=VALUE at column 5:\n  Add{=1}\n      ^"),
        ('Add{a="x}', "expected NAME=VALUE at column 5"),
    ],
)
def test_text_that_cannot_be_read_is_refused_with_the_place(text: str, complaint: str):
    with pytest.raises(PipelineSyntaxError) as caught:
        parse_pipeline(text)
    assert isinstance(caught.value, ValueError)
    assert complaint in str(caught.value)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UnknownPassError, match="did you mean 'Duplicate'"):
        parse_pipeline("Add,Duplicates")


def test_a_pass_is_a_pipeline_already():
    a_pass = Add()
    assert as_pass(a_pass) is a_pass


@pytest.mark.parametrize("make", [list[Any], tuple[Any, ...]])
def test_a_sequence_of_passes_is_a_pipeline(make: type[Any]):
    passes = [Add(), Keep()]
    pipeline = as_pass(make(passes))
    assert isinstance(pipeline, Sequential)
    assert list(pipeline.passes) == passes


def test_text_is_a_pipeline():
    assert isinstance(as_pass("Add"), Sequential)


@pytest.mark.parametrize("wrong", [None, 7, {Add()}, Add])
def test_nothing_else_is(wrong: Any):
    with pytest.raises(ArgumentError, match="a pass, a list of passes or pipeline te"):
        as_pass(wrong)
