"""What is known of a body that kills its worker holds wherever that might be called.

And it holds only for what it was found out about: a body that was told what did not
hold may do well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parpass.errors import SlowerRunWarning, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import Pass, PassContext, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from parpass.transform.debug.reproducer import REPRODUCER
from tests.runner.judging import EndElsewhere, Reads
from tests.support.runner.costs import forget_costs
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import POOLED, pooled
from tests.support.toy.ending import ReturnEnding
from tests.support.toy.ir import Fn, program
from tests.support.toy.passes import Add, FailOn
from tests.support.toy.pipelines import see
from tests.support.toy.signed_ir import Change, EndWhereTold, SignedProgram

pytestmark = pytest.mark.each_executor


@pytest.fixture
def threads() -> Iterator[Runner]:
    executor = ThreadExecutor(2)
    with open_runner(executor=executor) as runner:
        yield runner
    executor.close()


@pytest.fixture(autouse=True)
def called_here() -> list[str]:
    """Give the functions on which a body that ends its process was called here."""
    EndElsewhere.called.clear()
    return EndElsewhere.called


def signed(*values: int) -> SignedProgram:
    return SignedProgram(program(*values).functions)


@pytest.mark.parametrize("policy", ["fail", "skip"])
@pytest.mark.parametrize("where", ["before", "after"])
def test_what_a_body_did_that_was_told_what_did_not_hold_does_not_count(
    policy: str, where: str, threads: Runner
):
    first, last = ("f0", "f1") if where == "before" else ("f1", "f0")
    root = Sequential([Change([first]), EndWhereTold(last, first, 0), Add(1)])
    config = {"parpass.on_failure": policy}
    parallel = see(
        root,
        signed(0, 0, 0),
        run=lambda root, mod: threads.run_sync(mod, root),
        settings={"config": {**config, **POOLED}},
    )
    assert parallel.error is None
    assert parallel == see(root, signed(0, 0, 0), settings={"config": config})


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_what_relied_on_a_body_that_was_left_out_is_not_left_out_for_good(
    policy: str, threads: Runner
):
    # f2 reads f1, which is made on demand, and ends its worker for it at first.
    root = Sequential([Change(["f0"]), EndWhereTold("f1", "f0", 0), Reads("f2", "f1")])
    config = {"parpass.on_failure": policy}
    parallel = see(
        root,
        signed(0, 0, 0),
        run=lambda root, mod: threads.run_sync(mod, root),
        settings={"config": {**config, **POOLED}},
    )
    assert parallel == see(root, signed(0, 0, 0), settings={"config": config})


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_whether_it_kills_again_is_found_out_in_a_worker(
    runner: Runner, called_here: list[str], *, again: bool
):
    # What is to be run again is so little that it would be run here.
    big = Fn((0,) * 5000)
    mod = SignedProgram({"f0": Fn((0,)), "f1": big, "f2": Fn((0,))})
    steps = [Change(["f1"]), EndElsewhere("f2", "f1", 0, 1 if again else 0)]
    forget_costs()
    context = PassContext(config={ASKING_WORKERS_SECONDS: 0.02})
    if again:
        with pytest.raises(WorkerDiedError) as caught:
            runner.run_sync(mod, steps, context=context)
        assert caught.value.function == "f2"
    else:
        assert runner.run_sync(mod, steps, context=context)["f2"].values == (0, 1)
    assert called_here == []


@pytest.mark.slow
def test_what_killed_a_worker_is_not_called_here_when_the_rest_of_a_run_stays_here(
    runner: Runner, called_here: list[str]
):
    # Once that pass is skipped the function becomes one that cannot be sent back.
    steps = [EndElsewhere("f0", "f0"), ReturnEnding("raise", 1), Add(0)]
    with pytest.warns(SlowerRunWarning, match="cannot be sent function 'f0'"):
        after = runner.run_sync(
            signed(1, 2), steps, context=pooled(), on_failure="skip"
        )
    assert called_here == []
    assert after["f1"].values == (3,)


@pytest.mark.slow
def test_what_killed_a_worker_is_not_called_here_for_a_reproducer(
    runner: Runner, called_here: list[str], tmp_path: Path
):
    path = tmp_path / "failed.txt"
    context = PassContext(config={**POOLED, REPRODUCER: str(path)})
    killing = EndElsewhere("f0", "f0")
    killing.on_failure = "skip"
    # So many that they do not all go together.
    steps: list[Pass] = [*[Add(1)] * 3, killing, *[Add(1)] * 20, FailOn(23)]
    with pytest.raises(ValueError, match="met 23"):
        runner.run_sync(signed(0, 1), steps, context=context)
    assert called_here == []
    assert re.search(r"f0: \(23,\)", path.read_text())
