"""`parpass explain`: passes, options, errors and variables, without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parpass
from parpass.cli.commands.topics import ENVIRONMENT, error_classes
from parpass.cli.operations.error_advice import ADVICE
from tests.support.cli.calling import command


@pytest.mark.parametrize(
    ("topic", "begin", "part"),
    [
        ("FoldConstant", "FoldConstant: a function pass, runs from -O2", "becomes::"),
        (
            "parpass.on_failure",
            "parpass.on_failure: an option of the context, one of fail, skip, retry",
            "--config parpass.on_failure=...",
        ),
        (
            "workerdiederror",
            "WorkerDiedError: an error (FunctionFailure, RuntimeError)",
            "What to do: Replay its reproducer",
        ),
        ("BudgetWarning", "BudgetWarning: a warning", "What to do: Run with workers"),
        ("--isolate", "--isolate: an option of parpass codemod, parpass opt", "worker"),
        ("report", "--report: an option of parpass build, parpass opt", "HTML"),
        ("-j", "-j: an option of parpass bisect, ", "processes"),
        ("On_Failure", "parpass.on_failure: an option of the context", "--config"),
        ("PARPASS_CACHE_DIR", "PARPASS_CACHE_DIR: an environment", "The folder that"),
    ],
)
def test_a_topic_is_explained(topic: str, begin: str, part: str):
    told = command("explain", topic)
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.startswith(begin)
    assert part in told.stdout


@pytest.mark.parametrize(
    ("other", "option"),
    [("--mlir-timing", "--timing"), ("print-ir-after-all", "--print-ir-after")],
)
def test_another_name_of_an_option_is_explained_as_the_option(other: str, option: str):
    told = command("explain", other)
    assert (told.exit_code, told.stdout) == (0, command("explain", option).stdout)


def test_an_unknown_topic_is_a_usage_error_with_the_nearest_names():
    told = command("explain", "FoldConstants")
    assert told.exit_code == 2
    assert "got 'FoldConstants'; did you mean 'FoldConstant'?" in told.stderr


def test_every_error_has_advice_and_every_variable_is_known():
    assert ADVICE.keys() == error_classes().keys()
    (package,) = parpass.__path__
    sources = (path.read_text("utf-8") for path in Path(package).rglob("*.py"))
    read = {name for text in sources for name in re.findall(r"\"(PARPASS_\w+)", text)}
    assert read == ENVIRONMENT.keys()
