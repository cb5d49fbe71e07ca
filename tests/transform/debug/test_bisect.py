"""Pairs of pass and function have numbers, and run if bisection lets them."""

from __future__ import annotations

from typing import Any

import pytest

from parpass.errors import ConfigValueError
from parpass.runner import Runner, open_runner
from parpass.transform import Pass, PassContext, PassInfo, Sequential
from parpass.transform.debug.bisect import Gate, parse_ranges
from tests.conftest import RunnerOf
from tests.support.toy.ir import Fn, Program, checked_program, program, values_of
from tests.support.toy.passes import Add, Keep
from tests.support.toy.restored import RestoredProgram, fail_on_three

TWO = Sequential([Add(1), Keep(), Add(10)])


def bisected(
    mod: Program,
    config: dict[str, Any],
    runner: Runner | None = None,
    pipeline: Pass = TWO,
) -> dict[str, tuple[int, ...]]:
    context = PassContext(config={f"parpass.{key}": one for key, one in config.items()})
    run = runner or open_runner(workers=0)
    return values_of(run.run_sync(mod, pipeline, context=context))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"opt_bisect_limit": -1}, (11, 11, 11)),
        ({"opt_bisect_limit": 0}, (0, 0, 0)),
        ({"opt_bisect_limit": 2}, (1, 1, 0)),
        ({"opt_bisect_limit": 6}, (11, 11, 1)),
        ({"opt_bisect": "2,4-5"}, (10, 1, 0)),
        ({"opt_bisect": "1,6-"}, (1, 10, 10)),
    ],
)
@pytest.mark.parametrize("workers", [0, 2])
def test_what_has_no_number_among_those_given_does_not_run(
    config: dict[str, Any],
    expected: tuple[int, ...],
    workers: int,
    runner_of: RunnerOf,
    capfd: pytest.CaptureFixture[str],
):
    # 1-3 are the first Add, 4 is the module pass Keep, 5-7 are the second.
    found = bisected(
        program(0, 0, 0),
        {"asking_workers_seconds": 0.0, **config},
        runner_of(workers),
    )
    assert tuple(value for (value,) in found.values()) == expected
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 7
    assert all(line.startswith("BISECT: ") for line in lines)


def test_the_lines_are_llvms(capfd: pytest.CaptureFixture[str]):
    bisected(program(0, 0), {"opt_bisect_limit": 2})
    assert capfd.readouterr().err == (
        "BISECT: running pass (1) Add on function (f0)\n"
        "BISECT: running pass (2) Add on function (f1)\n"
        "BISECT: NOT running pass (3) Keep on module\n"
        "BISECT: NOT running pass (4) Add on function (f0)\n"
        "BISECT: NOT running pass (5) Add on function (f1)\n"
    )


def test_what_is_brought_along_has_no_number(capfd: pytest.CaptureFixture[str]):
    needing = Add(1)
    needing.pass_info = PassInfo(0, "Needing", ("Keep",))
    pipeline = Sequential([needing, Add(10)])
    found = bisected(checked_program(0), {"opt_bisect": "2"}, pipeline=pipeline)
    assert found == {"f0": (10,)}
    assert capfd.readouterr().err == (
        "BISECT: NOT running pass (1) Needing on function (f0)\n"
        "BISECT: running pass (2) Add on function (f0)\n"
    )


def test_a_pass_made_as_the_restoring_one_is_has_numbers(
    capfd: pytest.CaptureFixture[str],
):
    mod = RestoredProgram({"f0": Fn((1,))})
    bisected(mod, {"opt_bisect_limit": -1}, pipeline=fail_on_three)
    told = "BISECT: running pass (1) fail_on_three on function (f0)\n"
    assert capfd.readouterr().err == told


def test_what_the_context_requires_has_no_number(capfd: pytest.CaptureFixture[str]):
    context = PassContext(
        required_pass=["Keep"], config={"parpass.opt_bisect_limit": 0}
    )
    with context:
        assert values_of(TWO(program(0))) == {"f0": (0,)}
    assert "Keep" not in capfd.readouterr().err


def test_functions_that_passes_leave_alone_have_numbers_too(
    capfd: pytest.CaptureFixture[str],
):
    mod = program(0, skipped=Fn((5,), skip=True))
    found = bisected(mod, {"opt_bisect": "3-"}, pipeline=Add(1))
    assert found == {"f0": (0,), "skipped": (5,)}
    assert "(2) Add on function (skipped)" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["", "1-9,", "a", "3-1", "-1", "1--2", "1 2"])
def test_other_than_ranges_is_an_error_that_shows_it(text: str):
    with pytest.raises(ConfigValueError, match="expected ranges such as '1-9,12,21-'"):
        parse_ranges(text)


def test_both_options_together_are_an_error():
    config = {"parpass.opt_bisect": "1", "parpass.opt_bisect_limit": 1}
    with pytest.raises(ConfigValueError, match="exclude each other"):
        Gate.of(PassContext(config=config))
