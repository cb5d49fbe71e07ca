"""Functions that can be changed, in boxes, out of which passes take what they change.

The law's generators draw programs of boxes, too (`toy_pipelines.programs`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.errors import FunctionTimeoutError, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import Pass, PassContext, Sequential
from parpass.transform.config import CHECK_CONTRACT
from tests.runner.box_passes import Declare, Reread, Spoil, Tell, TellForm, TellLetGo
from tests.support.runner.pooled import POOLED, pooled
from tests.support.toy.box_ir import ENVIRONMENTS, LOADING, Body, Box, BoxProgram, boxed
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import Fn, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn
from tests.support.toy.pipelines import see

pytestmark = [pytest.mark.slow, pytest.mark.each_executor]


def mod_of(*values: int) -> BoxProgram:
    return boxed({f"f{at}": Fn((value,)) for at, value in enumerate(values)})


def both(runner: Runner, root: Any, mod: BoxProgram, **config: Any) -> Any:
    serial = see(root, mod, settings={"config": config})
    parallel = see(
        root,
        mod,
        run=lambda root, mod: runner.run_sync(mod, root),
        settings={"config": {**config, **POOLED}},
    )
    assert parallel == serial
    return serial


def handed_over(run: Callable[[Pass], object], **config: Any) -> int:
    with PassContext(config={**config, **POOLED}) as context:
        run(Sequential([Tell(), Tell()]))
    return context.statistics["Tell"]["handed over"]


def test_bodies_are_handed_over_in_workers_where_nobody_looks_again(runner: Runner):
    mod = mod_of(1, 2, 3)
    assert handed_over(lambda root: runner.run_sync(mod, root)) == 6
    assert handed_over(lambda root: root(mod)) == 0
    assert values_of(mod) == {"f0": (1,), "f1": (2,), "f2": (3,)}


@pytest.mark.parametrize("policy", ["skip", "retry"])
def test_they_are_not_where_a_failed_pass_leaves_functions_as_they_were(
    runner: Runner, policy: str
):
    mod, config = mod_of(1, 2, 3), {"parpass.on_failure": policy}
    assert handed_over(lambda root: runner.run_sync(mod, root), **config) == 0
    seen = both(runner, Sequential([Add(1), Spoil(), Add(1)]), mod, **config)
    if policy == "skip":
        expected = {"f0": (103,), "f1": (4,), "f2": (5,)}
        assert values_of(seen.result) == expected
    else:
        assert seen.error[0] is ValueError


@pytest.mark.parametrize("name", ["f0", "f1"])
def test_who_asks_for_a_function_gets_it_as_it_was_when_the_pass_began(
    runner: Runner, name: str
):
    root = Sequential([Add(1), Reread(name), AddFrom("f2"), Reread(name)])
    seen = both(runner, root, mod_of(1, 2, 3))
    before = {"f0": 2, "f1": 3, "f2": 4}
    first = {own: (value + 1, before[name]) for own, value in before.items()}
    second = {own: (*values, *first["f2"]) for own, values in first.items()}
    last = {
        own: (*(value + 1 for value in values), *second[name])
        for own, values in second.items()
    }
    assert values_of(seen.result) == last


def test_what_passes_leave_alone_comes_back_as_the_same_box(runner: Runner):
    mod = mod_of(1, 2, 3)
    with pooled():
        after = runner.run_sync(mod, Sequential([Add(0), FailOn(9), Add(0)]))
    assert [after[n] is mod[n] for n in mod.functions] == [True] * 3


def test_a_pass_that_fails_hangs_or_kills_is_named_and_the_input_stays(runner: Runner):
    mod = mod_of(1, 2, 3)
    assert both(runner, Sequential([Add(1), FailOn(3)]), mod).error[0] is ValueError
    for how, error in (("hang", FunctionTimeoutError), ("segfault", WorkerDiedError)):
        root = Sequential([Add(1), EndIn(how, 3)])
        config = {**POOLED, "parpass.function_timeout": 0.3}
        with PassContext(config=config), pytest.raises(error) as caught:
            runner.run_sync(mod, root)
        assert caught.value.function == "f1"
    assert values_of(mod) == {"f0": (1,), "f1": (2,), "f2": (3,)}


def test_the_contract_holds_for_passes_that_take_and_put_back(runner: Runner):
    seen = both(runner, Reread("f1"), mod_of(1, 2), **{CHECK_CONTRACT: True})
    assert values_of(seen.result) == {"f0": (2, 2), "f1": (3, 2)}


def test_what_takes_long_to_make_is_made_before_passes_begin_and_once_a_worker(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "made"
    monkeypatch.setenv(ENVIRONMENTS, str(path))
    with pooled():
        runner.run_sync(mod_of(*range(20)), Sequential([Add(1), Add(2)]))
    made = path.read_text().split()
    assert 1 <= len(made) == len(set(made)) <= 2
    assert str(os.getpid()) not in made


def test_what_takes_long_to_make_counts_for_no_limit_of_a_pass(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv(LOADING, "0.6")
    with open_runner(workers=1) as runner:
        after = runner.run_sync(
            mod_of(1, 2), Add(1), context=pooled(), function_timeout=0.5
        )
    assert values_of(after) == {"f0": (2,), "f1": (3,)}


def test_text_is_text_until_a_worker_takes_it(runner: Runner):
    mod = mod_of(1, 2, 3)
    with PassContext(config=POOLED) as context:
        runner.run_sync(mod, TellForm())
    assert context.statistics["TellForm"] == {"bytes": 2, "text": 1}
    left: Any = mod["f2"]
    assert left.form == "text"


def test_what_functions_add_is_merged_by_name(runner: Runner):
    seen = both(runner, Sequential([Declare(), Add(1), Declare()]), mod_of(1, 2))
    assert str(seen.result) == "f0: 2\nf1: 3\ndeclare all\ndeclare of_f0\ndeclare of_f1"


def test_a_worker_lets_go_of_what_nobody_looks_at_any_more():
    with (
        PassContext(config=POOLED) as context,
        open_runner(workers=1) as runner,
    ):
        after = runner.run_sync(mod_of(1, 2, 3), TellLetGo())
    assert context.statistics["TellLetGo"] == {"let go": 0 + 1 + 2}
    assert values_of(after) == {"f0": (2,), "f1": (3,), "f2": (4,)}


def test_a_box_that_was_emptied_tells_who_looks_into_it():
    box = Box(Body([1]))
    box.body = None
    with pytest.raises(AssertionError, match="the box is empty"):
        _ = box.values


def test_the_command_reads_runs_replays_bisects_and_reduces_programs_of_boxes(
    tmp_path: Path,
):
    path, failure, small = (tmp_path / n for n in ("a.boxes", "failure", "small"))
    path.write_text("f: 1 2\ng: 3 4\n")
    load = ["--load", "tests.support.toy.passes", "--load", "tests.support.toy.box_ir"]
    run = CliRunner().invoke
    assert (
        run(main, ["opt", "-j0", str(path), *load, "-p", "Add"]).output
        == "f: 2 3\ng: 4 5\n"
    )
    failing = ["opt", "-j0", str(path), *load, "-p", "Add,FailOn{number=5}"]
    assert "met 5" in run(main, [*failing, "--reproducer", str(failure)]).output
    assert "same failure" in run(main, ["replay", str(failure)]).output
    told = run(main, ["bisect", *failing[1:]])
    assert "Pass 'FailOn' on function 'g', number 4: " in told.output
    told = run(main, ["reduce", str(failure), "-o", str(small)])
    assert told.exit_code == 0, told.output
    assert "g: 5" in small.read_text()
    assert "f:" not in small.read_text()


def test_the_command_tells_where_programs_of_boxes_differ(tmp_path: Path):
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    one.write_text("f: 1 2\ng: 3\n")
    other.write_text("f: 1 2\ng: 4\n")
    load = ["--load", "tests.support.toy.box_ir", "--ir", "boxes"]
    told = CliRunner().invoke(main, ["diff", *load, str(one), str(other)])
    assert (told.exit_code, "function 'g'" in told.output) == (1, True), told.output
