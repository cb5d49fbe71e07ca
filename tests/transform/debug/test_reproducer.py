"""Failures of passes become files, the same ones by both drivers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from parpass.diagnostic import DiagnosticLevel
from parpass.errors import (
    BudgetWarning,
    DiagnosticError,
    FunctionTimeoutError,
    ReproducerError,
    WorkerDiedError,
)
from parpass.relay import parse
from parpass.relay.transform import FoldConstant, InferType
from parpass.runner import run_pipeline_sync
from parpass.transform import Pass, PassContext, parse_pipeline
from parpass.transform.debug.reproducer import Reproducer
from tests.conftest import RunnerOf
from tests.support.relay import breaking
from tests.support.relay.breaking import PROGRAM, CrashOnExp, FailOnExp
from tests.support.toy.ir import Fn, checked_program, program
from tests.support.toy.passes import Add, FailOn, FailWhole, Say
from tests.support.toy.restored import RestoredProgram, fail_on_three

FOLDED = [InferType(), FoldConstant()]


Failure = Callable[..., Exception]


@pytest.fixture
def failure(runner_of: RunnerOf) -> Failure:
    """Give a function to what a run raises that writes reproducers to a path."""

    def failure(
        mod: Any, passes: Sequence[Pass], path: Path, workers: int = 0, **settings: Any
    ) -> Exception:
        own = {"parpass.reproducer": str(path), "parpass.asking_workers_seconds": 0.0}
        config = {**settings.pop("config", {}), **own}
        context = PassContext(config=config, **settings)
        with pytest.raises(Exception) as caught:  # noqa: PT011 -- callers look at it
            runner_of(workers).run_sync(mod, passes, context=context)
        return caught.value

    return failure


def written(error: Exception) -> Reproducer:
    """Return the reproducer that an error names."""
    (note,) = [one for one in error.__notes__ if one.startswith("reproducer: ")]
    path = Path(note.removeprefix("reproducer: "))
    return Reproducer.from_text(path.read_text())


def test_limits_are_written_wherever_they_were_set(tmp_path: Path):
    class Linger(FailOnExp):
        function_timeout = 1e-9

    context = PassContext(
        config={"parpass.reproducer": str(tmp_path), "parpass.on_failure": "retry"}
    )
    mod, limit = parse("def @f(%x: int32) { %x }"), 1 << 40
    with pytest.warns(BudgetWarning), pytest.raises(FunctionTimeoutError) as caught:
        run_pipeline_sync(
            mod, [Linger("")], context=context, workers=0, memory_limit=limit
        )
    assert written(caught.value).config == {
        "parpass.function_timeout": 1e-9,
        "parpass.memory_limit": limit,
    }


@pytest.mark.parametrize("workers", [0, 2])
def test_the_function_is_as_it_stood_when_the_failing_pass_began(
    failure: Failure, tmp_path: Path, workers: int
):
    passes = [*FOLDED, FailOnExp("no")]
    error = failure(parse(PROGRAM), passes, tmp_path / "file", workers)
    found = written(error)
    assert (found.error, found.pass_name) == ("ValueError: no", "FailOnExp")
    assert found.function == "inner"
    assert found.pipeline == "InferType,FailOnExp{message=no}"
    expected = parse_pipeline("InferType,FoldConstant")(parse(PROGRAM))
    kept = parse_pipeline("InferType")(parse(found.text)).functions_by_name
    assert list(kept) == ["inner", "leaf"]
    assert str(kept["inner"]) == str(expected["inner"])
    assert "multiply(%x, 2f" in found.text


def test_both_drivers_write_the_same(failure: Failure, tmp_path: Path):
    passes = [*FOLDED, FailOnExp()]
    for workers in (0, 2):
        failure(parse(PROGRAM), passes, tmp_path / str(workers), workers)
    assert (tmp_path / "0").read_bytes() == (tmp_path / "2").read_bytes()


def test_settings_and_versions_are_in_it(failure: Failure, tmp_path: Path):
    config = {"parpass.strict_required": True}
    settings: dict[str, Any] = {
        "opt_level": 3,
        "required_pass": ["A"],
        "disabled_pass": ["B"],
    }
    error = failure(
        program(1), [FailOn(1)], tmp_path / "file", config=config, **settings
    )
    found = written(error)
    assert (found.opt_level, found.required, found.disabled) == (3, ["A"], ["B"])
    assert found.config["parpass.strict_required"] is True
    assert "parpass.reproducer" not in found.config
    assert found.versions.keys() == {"parpass", "python", "platform"}
    assert found.context().opt_level == 3


def test_a_worker_that_died_is_a_failure(failure: Failure, tmp_path: Path):
    passes = [*FOLDED, CrashOnExp("exit")]
    error = failure(parse(PROGRAM), passes, tmp_path, workers=2)
    assert isinstance(error, WorkerDiedError)
    assert error.reproducer == str(tmp_path / "CrashOnExp-inner.txt")
    assert written(error).error_type == "WorkerDiedError"


@pytest.mark.parametrize("workers", [0, 2])
def test_the_first_function_with_an_error_is_named(
    failure: Failure, tmp_path: Path, workers: int
):
    passes: list[Pass] = [Add(1), Say(DiagnosticLevel.ERROR), Add(1)]
    mod = program(a=Fn(()), b=Fn((1, 2)), c=Fn((3,)))
    error = failure(mod, passes, tmp_path / "file", workers)
    assert isinstance(error, DiagnosticError)
    found = written(error)
    assert (found.pass_name, found.function) == ("Say", "b")
    assert found.text.strip().splitlines()[-1] == "b: (2, 3)"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_whose_result_cannot_be_restored_is_run_again(
    failure: Failure, tmp_path: Path, workers: int
):
    passes: list[Pass] = [Add(1), Add(-5)]
    error = failure(checked_program(9, 1), passes, tmp_path / "file", workers)
    found = written(error)
    assert (found.pass_name, found.function) == ("Check", "f1")
    assert found.pipeline == "Add{amount=-5}"
    assert found.text.strip().splitlines()[-1] == "f1: (2,)"


def test_a_pass_made_as_the_restoring_one_is_run_again_after_it(
    failure: Failure, tmp_path: Path
):
    mod = RestoredProgram({"f0": Fn((3,))})
    found = written(failure(mod, [fail_on_three], tmp_path / "file"))
    assert found.pipeline == "restore,fail_on_three"


def test_a_module_pass_has_the_whole_module(failure: Failure, tmp_path: Path):
    error = failure(program(1, 2), [Add(1), FailWhole()], tmp_path)
    found = written(error)
    assert (found.pass_name, found.function) == ("FailWhole", None)
    assert found.text.strip().splitlines()[-2:] == ["f0: (2,)", "f1: (3,)"]
    assert os.listdir(tmp_path) == ["FailWhole-module.txt"]


def test_in_a_folder_each_failure_has_its_own_file(failure: Failure, tmp_path: Path):
    for _ in range(2):
        failure(program(1), [FailOn(1)], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["FailOn-f0-2.txt", "FailOn-f0.txt"]


def test_without_the_option_nothing_is_written():
    with pytest.raises(Exception) as caught:  # noqa: PT011 -- FailOn's own
        run_pipeline_sync(program(1), [FailOn(1)], workers=0)
    assert not any("reproducer" in note for note in caught.value.__notes__)


def test_a_file_that_cannot_be_written_does_not_hide_the_failure(
    failure: Failure, tmp_path: Path
):
    error = failure(program(1), [FailOn(1)], tmp_path / "nowhere" / "file")
    assert "reproducer: none, FileNotFoundError" in error.__notes__[-1]
    assert not isinstance(error, FileNotFoundError)


@pytest.mark.parametrize(
    ("a_pass", "pipeline"),
    [
        (breaking.UnregisteredFailure(), "InferType,UnregisteredFailure"),
        (breaking.decorated_failure, "InferType,decorated_failure"),
    ],
)
def test_passes_that_nobody_registered_are_found_by_their_place(
    failure: Failure, tmp_path: Path, a_pass: Pass, pipeline: str
):
    found = written(failure(parse(PROGRAM), [*FOLDED, a_pass], tmp_path / "file"))
    assert found.pipeline == pipeline
    name = pipeline.partition(",")[2]
    assert found.load == [breaking.__name__]
    assert found.passes == {name: f"{breaking.__name__}:{name}"}


def test_a_pass_that_nobody_could_find_is_said_to_be_so(
    failure: Failure, tmp_path: Path
):
    class Local(FailOn):
        pass

    found = written(failure(program(1), [Local(1)], tmp_path / "file"))
    assert found.pipeline == ""
    assert "its class, Local, is not registered" in found.unprintable


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected '// parpass reproducer"),
        ("def @main() {{ 1f }}", "expected '// parpass reproducer"),
        ("{title}\n// error: nonsense\n", "expected JSON for 'error'"),
        ("{title}\n// error: 1\n", "Expected `str`, got `int`"),
        ("{title}\ndef @main() {{ 1f }}", "missing required field `error`"),
    ],
)
def test_a_file_that_is_none_is_an_error(text: str, complaint: str):
    title = "// parpass reproducer; replay it by: parpass replay FILE"
    with pytest.raises(ReproducerError, match=complaint):
        Reproducer.from_text(text.format(title=title))


def test_lines_of_the_program_keep_their_numbers(failure: Failure, tmp_path: Path):
    error = failure(parse(PROGRAM), [*FOLDED, FailOnExp()], tmp_path / "file")
    text = (tmp_path / "file").read_text()
    kept = written(error).program()
    at = text.splitlines().index(kept.strip().splitlines()[0])
    assert kept.splitlines().index(kept.strip().splitlines()[0]) == at
