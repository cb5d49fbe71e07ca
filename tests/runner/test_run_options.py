"""The options of a run: named once below the public functions, which list them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from parpass.limits import LIMITS
from parpass.runner import Runner, open_runner, run_pipeline, run_pipeline_sync
from parpass.runner.run_options import RunnerOptions
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

LIMIT_NAMES = {one.name for one in LIMITS}


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the default of each keyword."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


# Those of a run: the context, each limit, and what observes the run.
OF_A_RUN = dict.fromkeys(["context", *LIMIT_NAMES, "on_failure", "report", "progress"])


def test_the_public_functions_list_each_option_with_its_default():
    of_a_runner = defaults(open_runner)
    assert list(of_a_runner) == list(RunnerOptions._fields)
    assert defaults(Runner) == of_a_runner
    listed = of_a_runner | OF_A_RUN | {"trace": None}
    assert defaults(run_pipeline) == defaults(run_pipeline_sync) == listed


def test_the_methods_of_a_runner_take_each_option_of_a_run():
    assert defaults(Runner.run) == OF_A_RUN
    assert defaults(Runner.run_sync) == OF_A_RUN


def test_docstrings_name_each_option():
    text = inspect.getdoc(run_pipeline) or ""
    documented = re.findall(r"^    (\w+): ", text.partition("Args:")[2], re.MULTILINE)
    assert {*documented} >= {*OF_A_RUN, *RunnerOptions._fields, "trace"}


async def test_an_unknown_keyword_is_a_type_error_that_names_it():
    unknown: dict[str, Any] = {"time_out": 1}
    mod, step = program(1), Add()
    with open_runner(workers=0) as runner:
        for run in (
            open_runner,
            partial(run_pipeline_sync, mod, step),
            partial(runner.run_sync, mod, step),
        ):
            with pytest.raises(TypeError, match="'time_out'"):
                run(**unknown)
        for start in (partial(run_pipeline, mod, step), partial(runner.run, mod, step)):
            with pytest.raises(TypeError, match="'time_out'"):
                await start(**unknown)
