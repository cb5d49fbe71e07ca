"""Which passes a pipeline runs, and in which order."""

from typing import Any

import pytest

from parpass.errors import UndefinedPassError, UnknownPassError
from parpass.transform import Pass, PassContext, PassInfo, Sequential, register_pass
from tests.support.toy.ir import Fn, Program, checked_program, program
from tests.support.toy.passes import Add, Keep
from tests.support.toy.restored import RestoredProgram, fail_on_three, restore
from tests.support.watching import Log, vetoing


def named(name: str, level: int = 0, required: tuple[str, ...] = ()) -> Pass:
    """Return a module pass that changes nothing."""
    a_pass = Keep()
    a_pass.pass_info = PassInfo(level, name, required)
    return a_pass


@register_pass("toy.High")
def high() -> Pass:
    return named("High", level=9, required=("Keep",))


@register_pass("toy.Two")
def two() -> Pass:
    return Sequential([named("One"), named("Two", required=("Keep",))], name="both")


def runs(a_pass: Pass, mod: Program | None = None, **settings: Any) -> list[str]:
    """Return the names of the passes that run, in order."""
    log = Log()
    with PassContext(instruments=[log], **settings):
        a_pass(program(1) if mod is None else mod)
    return [call.split()[1] for call in log.log if call.startswith("before")]


def test_children_that_are_not_enabled_are_skipped():  # 7.3, 2.20
    pipeline = Sequential([named("A", level=3), named("B"), named("C")], name="s")
    assert runs(pipeline) == ["s", "B", "C"]
    assert runs(pipeline, opt_level=3) == ["s", "A", "B", "C"]
    assert runs(pipeline, disabled_pass=["B"]) == ["s", "C"]
    assert runs(pipeline, required_pass=["A"]) == ["s", "A", "B", "C"]
    assert runs(pipeline, opt_level=-1) == ["s"]


def test_children_of_nested_pipelines_are_judged_by_themselves():  # 7.4
    inner = Sequential([named("A", level=3), named("B")], name="inner")
    assert runs(Sequential([inner], name="s")) == ["s", "inner", "B"]


def test_unnamed_pipelines_are_disabled_together():  # 7.4
    pipeline = Sequential([Sequential([named("A")]), Sequential([named("B")])])
    assert runs(pipeline, disabled_pass=["sequential"]) == ["sequential"]


def test_required_passes_run_first_whatever_their_level():  # 7.5, 7.7
    pipeline = Sequential([named("A", required=("High", "Add"))], name="s")
    assert runs(pipeline) == ["s", "High", "Add", "A"]
    assert runs(pipeline, disabled_pass=["High"]) == ["s", "High", "Add", "A"]


def test_a_required_pass_runs_each_time_anew():  # 7.7
    pipeline = Sequential([Keep(), *[named("A", required=("Keep",))] * 2], name="s")
    assert runs(pipeline) == ["s", "Keep", "Keep", "A", "Keep", "A"]


def test_a_required_pass_can_be_vetoed_and_its_dependent_still_runs():  # 7.7
    log = Log(at=vetoing("Keep"))
    with PassContext(instruments=[log]):
        Sequential([named("A", required=("Keep",))])(program())
    assert "before Keep" not in log.log
    assert "before A" in log.log


def test_what_a_required_pass_requires_does_not_count():  # 7.8
    assert runs(Sequential([named("A", required=("High",))])) == (
        ["sequential", "High", "A"]
    )


def test_unless_it_is_a_pipeline():  # 7.8
    assert runs(Sequential([named("A", required=("Two",))])) == (
        ["sequential", "both", "One", "Keep", "Two", "A"]
    )


def test_a_pass_that_is_called_ignores_what_it_requires():  # 7.9
    assert runs(named("A", required=("Nowhere",))) == ["A"]
    pipeline = Sequential([Keep()], name="s", required=["Nowhere"])
    assert runs(pipeline) == ["s", "Keep"]


def test_a_nested_pipeline_has_its_required_passes_run():  # 7.9
    inner = Sequential([named("B")], name="inner", required=["Keep"])
    assert runs(Sequential([inner], name="s")) == ["s", "Keep", "inner", "B"]


def test_an_unknown_required_pass_is_an_error_when_the_run_comes_there():  # 7.5
    log = Log()
    pipeline = Sequential([named("A"), named("B", required=("Kep",))])
    with PassContext(instruments=[log]), pytest.raises(UnknownPassError) as caught:
        pipeline(program())
    assert str(caught.value).startswith(
        "no pass named 'Kep' (required by 'B'); did you mean 'Keep'"
    )
    assert "after A" in log.log
    assert log.log[-2:] == ["failed sequential", "exit"]


def test_a_missing_pass_is_an_error_when_the_run_comes_there():  # 7.2
    pipeline = Sequential([named("A"), None], name="s")
    with pytest.raises(UndefinedPassError, match="'s' holds None") as caught:
        pipeline(program())
    assert isinstance(caught.value, ValueError)
    assert caught.value.pass_name == "s"


def test_the_restoring_pass_follows_function_passes_only():  # 6.3
    pipeline = Sequential([Keep(), Add(), Keep()], name="s")
    assert runs(pipeline, checked_program(1)) == ["s", "Keep", "Add", "Check", "Keep"]
    assert runs(pipeline, program(1)) == ["s", "Keep", "Add", "Keep"]


def test_a_restoring_pass_that_is_a_function_pass_does_not_follow_itself():
    mod = RestoredProgram({"f": Fn((1,))})
    assert runs(fail_on_three, mod) == ["fail_on_three", "restore"]
    assert runs(Sequential([restore], name="s"), mod) == ["s", "restore"]
