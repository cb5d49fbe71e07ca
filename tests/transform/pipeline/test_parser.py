from typing import Any

import pytest

from parpass.diagnostic import DiagnosticLevel
from parpass.errors import ArgumentError, PipelineSyntaxError
from parpass.transform import (
    ModulePass,
    Pass,
    PassInfo,
    Sequential,
    as_pass,
    parse_pipeline,
    register_pass,
)
from tests.support.toy.passes import Add, AddFrom, Keep, Say


@register_pass("toy.Options")
class Options(ModulePass):
    """Takes any options."""

    pass_info = PassInfo(0, "Options")

    def __init__(self, **options: Any) -> None:
        self.options = options


@register_pass("toy.Typed")
class Typed(ModulePass):
    """Takes options that have types."""

    pass_info = PassInfo(0, "Typed")

    def __init__(
        self,
        word: str = "",
        rate: float = 0.0,
        words: tuple[str, ...] = (),
        limit: int | None = 7,
    ) -> None:
        if limit == 13:
            raise ValueError("13 is not lucky")
        self.word, self.rate, self.words, self.limit = word, rate, words, limit


@register_pass("toy.add_twice")
def add_twice(amount: int = 1) -> Sequential:
    """Add twice."""
    return Sequential([Add(amount), Add(amount)])


def options_of(text: str) -> dict[str, Any]:
    [a_pass] = parse_pipeline(f"Options{{{text}}}").passes
    assert isinstance(a_pass, Options)
    return a_pass.options


def typed(text: str) -> Typed:
    [a_pass] = parse_pipeline(f"Typed{{{text}}}").passes
    assert isinstance(a_pass, Typed)
    return a_pass


def faults(text: str) -> list[str]:
    """Return what is wrong with text, each as `LINE:COLUMN message`."""
    with pytest.raises(PipelineSyntaxError) as caught:
        parse_pipeline(text)
    return [f"{line}:{col} {message}" for line, col, message in caught.value.faults]


def kinds(pipeline: Pass | None) -> Any:
    """Return the classes of passes, nested as they are."""
    if isinstance(pipeline, Sequential):
        return [kinds(child) for child in pipeline.passes]
    return type(pipeline)


@pytest.mark.parametrize(
    "text", ["Add,Keep", " Add ,\n  Keep ", "toy.Add,Keep{}", "Add{ },\tKeep\n"]
)
def test_names_are_separated_by_commas(text: str):
    assert kinds(parse_pipeline(text)) == [Add, Keep]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": 1}),
        ("a=-1.5e-3", {"a": -1.5e-3}),
        ("a=true b=false c=null", {"a": True, "b": False, "c": None}),
        ("a=inf b=-inf", {"a": float("inf"), "b": float("-inf")}),
        ("flag other", {"flag": True, "other": True}),
        ("a=word b=1.2.3 c=a/b:c*", {"a": "word", "b": "1.2.3", "c": "a/b:c*"}),
        ('a="two, words" b=1', {"a": "two, words", "b": 1}),
        (r"""a="\"\n\u00e9" b='it{=}'""", {"a": '"\né', "b": "it{=}"}),
        ("a=1,2 b=x, y", {"a": [1, 2], "b": ["x", "y"]}),
        ("a=[] b=[1] c=[[1,2],[x]]", {"a": [], "b": [1], "c": [[1, 2], ["x"]]}),
        ("kebab-case=1 snake_case=2", {"kebab_case": 1, "snake_case": 2}),
        ("  a = 1\n   b=2  ", {"a": 1, "b": 2}),
    ],
)
def test_options_are_separated_by_blanks(text: str, expected: dict[str, Any]):
    assert options_of(text) == expected


def test_values_are_read_as_the_option_wants_them():
    assert typed("word=true").word == "true"
    assert typed("word=007").word == "007"
    assert typed("rate=1").rate == 1.0
    assert typed("words=one").words == ("one",)
    assert typed("words=1,true").words == ("1", "true")
    assert typed("limit=null").limit is None
    [say] = parse_pipeline("Say{level=40}").passes
    assert isinstance(say, Say)
    assert say.level is DiagnosticLevel.NOTE


def test_sequential_nests():
    text = """
      Add,
      sequential{name=inner opt-level=2 required=Add}(
        Keep, sequential(Add{amount=3}), sequential()
      )
    """
    pipeline = parse_pipeline(text)
    assert kinds(pipeline) == [Add, [Keep, [Add], []]]
    inner = pipeline.passes[1]
    assert inner is not None
    assert (inner.info.name, inner.info.opt_level) == ("inner", 2)
    assert inner.info.required == ("Add",)


def test_one_sequential_is_the_pipeline_itself():
    pipeline = parse_pipeline("sequential{name=mine}(Add,Keep)")
    assert pipeline.info.name == "mine"
    assert kinds(pipeline) == [Add, Keep]


def test_a_registered_pipeline_is_a_name_like_any_other():
    assert kinds(parse_pipeline("Keep,add_twice{amount=2}")) == [Keep, [Add, Add]]
    assert kinds(parse_pipeline("add_twice")) == [Add, Add]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Duplicates", "1:1 no pass named 'Duplicates'; did you mean 'Duplicate'"),
        ("nope.Add", "1:1 no pass named 'nope.Add'; did you mean 'Add'?"),
        ("\n Add{amuont=1}", "2:6 pass 'Add' has no option 'amuont'; did you mean 'am"),
        ("Keep{a}", "1:6 pass 'Keep' has no option 'a'; it has none"),
        ("Add{amount=x}", "1:5 option 'amount' of pass 'Add': expected int, got x"),
        ("Add{amount}", "1:5 option 'amount' of pass 'Add': expected int, got true"),
        ("Add{amount=1 amount=2}", "1:14 option 'amount' is given twice"),
        ("AddFrom", "1:1 pass 'AddFrom' needs option 'other'"),
        ("Keep,Typed{limit=13}", "1:6 13 is not lucky"),
        ("sequential", "1:1 expected passes in parentheses after 'sequential'"),
        ("Add(Keep)", "1:1 pass 'Add' holds no other passes, only 'sequential' does"),
        ("module(Keep)", "1:1 no pass named 'module' that holds other passes; passes"),
        ("sequential{opt_level=x}(Add)", "1:12 option 'opt_level' of pass 'sequential"),
    ],
)
def test_passes_and_options_that_do_not_exist_are_refused(text: str, expected: str):
    [found] = faults(text)
    assert found.startswith(expected)


def test_all_that_is_wrong_is_said_at_once():
    assert faults("AddFrom,sequential(\n  Nope(Keep{x}),\n  Add{amount=a} )") == [
        "1:1 pass 'AddFrom' needs option 'other'",
        (
            "2:3 no pass named 'Nope' that holds other passes; passes find functions "
            "and modules themselves; write 'sequential(...)'"
        ),
        "2:13 pass 'Keep' has no option 'x'; it has none",
        "3:7 option 'amount' of pass 'Add': expected int, got a",
    ]


def test_the_message_shows_each_place_in_the_text():
    with pytest.raises(PipelineSyntaxError) as caught:
        parse_pipeline("Add,Nope,\nAdd{x}")
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == (
        "line 1, column 5: no pass named 'Nope'; see 'parpass opt --list-passes'\n"
        "  Add,Nope,\n"
        "      ^\n"
        "line 2, column 5: pass 'Add' has no option 'x'; it has 'amount'\n"
        "  Add{x}\n"
        "      ^"
    )


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
    assert kinds(as_pass("AddFrom{other=f}")) == [AddFrom]


@pytest.mark.parametrize("wrong", [None, 7, {Add()}, Add])
def test_nothing_else_is(wrong: Any):
    with pytest.raises(ArgumentError, match="a pass, a list of passes or pipeline te"):
        as_pass(wrong)
