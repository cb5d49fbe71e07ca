"""What runs on a Ray cluster gives what a serial run gives, whatever happens there.

The host that runs passes shares nothing with this process but connections.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio

from parpass import relay
from parpass.errors import FunctionTimeoutError, RuntimeUseError, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.integrations.ray.clusters import Cluster
from tests.support.ending import EndIn, HangOnAll, end
from tests.support.large import Doubled, weighted
from tests.support.other_processes import until
from tests.support.pooled import POOLED, new_pipe, pooled, run_pooled
from tests.support.toy_ir import Program, program, values_of
from tests.support.toy_passes import Add, AddFrom, Say
from tests.support.toy_pipelines import see

pytestmark = [
    pytest.mark.foreign,
    # Threads of Ray's close their connections when they like.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


class KillHost(FunctionPass):
    """Kills the actor above its process on a 7, as long as a file is there; adds 1."""

    pass_info = PassInfo(0, "KillHost")

    def __init__(self, flag: Path | None = None) -> None:
        self.flag = flag

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        if 7 in func.values and (self.flag is None or self.flag.exists()):
            if self.flag is not None:
                self.flag.unlink()
            parent = psutil.Process(os.getppid())
            if any("ray::" in word for word in parent.cmdline()):
                parent.kill()
            end("hang")
        return func.with_values(value + 1 for value in func.values)


class Where(FunctionPass):
    """Fails where files of the process that began the run are seen; adds 1."""

    pass_info = PassInfo(0, "Where")

    def __init__(self) -> None:
        self.client, self.folder = os.getpid(), os.getcwd()

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        found = os.listdir("/dev/shm")
        assert not [one for one in found if one.startswith(f"parpass-{self.client}-")]
        assert os.environ["TMPDIR"].endswith("/host")
        return func.with_values(value + 1 for value in func.values)


def test_the_law_holds_on_it_and_passes_read_other_functions(runner: Runner):
    root = Sequential([Add(1), Say(), AddFrom("f1"), Add(2)])
    mod = program(*range(30))
    parallel = see(
        root,
        mod,
        run=lambda root, mod: runner.run_sync(mod, root),
        settings={"config": POOLED},
    )
    assert parallel == see(root, mod)
    assert runner.last_report is not None
    assert runner.last_report.workers == 2


def test_no_file_is_shared_with_its_host(runner: Runner):
    mod = program(*range(30))
    assert run_pooled(runner, Where(), mod) == Add(1)(mod)


@pytest.mark.parametrize("side", [100, 400], ids=["sent along", "asked for"])
def test_large_values_are_brought_and_those_that_are_made_come_back(
    runner: Runner, side: int
):
    mod = weighted(6, side)
    barrier = relay.transform.RemoveUnusedFunctions(["f0", "f1", "f2", "f3", "f4"])
    root = Sequential([Doubled(), barrier, Doubled()])
    assert run_pooled(runner, root, mod).astext() == root(mod).astext()


def test_a_pass_that_kills_its_process_is_blamed_and_the_run_can_go_on(runner: Runner):
    with pytest.raises(WorkerDiedError, match="SIGSEGV") as caught:
        runner.run_sync(program(*range(9)), EndIn("segfault", 7), context=pooled())
    assert caught.value.function == "f7"
    assert "in end" in caught.value.traceback
    with PassContext(config={**POOLED, "parpass.on_failure": "skip"}):
        made = runner.run_sync(program(6, 7, 8), EndIn("segfault", 7))
    assert values_of(made) == {"f0": (7,), "f1": (7,), "f2": (9,)}


def test_a_pass_that_hangs_is_ended_at_its_limit(runner: Runner):
    config = {**POOLED, "parpass.function_timeout": 0.3}
    with PassContext(config=config), pytest.raises(FunctionTimeoutError) as caught:
        runner.run_sync(program(*range(4)), EndIn("hang", 3))
    assert caught.value.function == "f3"


def test_an_actor_that_is_killed_costs_its_jobs_alone_and_another_one_comes(
    runner: Runner, tmp_path: Path
):
    flag, mod = tmp_path / "flag", program(*range(40))
    flag.touch()
    assert run_pooled(runner, KillHost(flag), mod) == Add(1)(mod)
    assert not flag.exists()


def test_who_kills_each_actor_is_blamed_and_the_others_are_done(runner: Runner):
    with PassContext(config={**POOLED, "parpass.on_failure": "skip"}):
        made = runner.run_sync(program(6, 7, 8), KillHost())
    assert values_of(made) == {"f0": (7,), "f1": (7,), "f2": (9,)}


async def test_a_run_that_is_cancelled_ends_its_jobs_and_others_follow(
    runner: Runner, tmp_path: Path
):
    pipe = new_pipe(tmp_path)
    with trio.fail_after(60), trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def cancel() -> None:
                await trio.to_thread.run_sync(pipe.read_text)
                scope.cancel()

            nursery.start_soon(cancel)
            await runner.run(program(1), HangOnAll(str(pipe)), context=pooled())
    assert scope.cancelled_caught
    assert await runner.run(program(1, 2), Add(1), context=pooled()) == program(2, 3)


def test_hosts_that_come_later_are_used(
    runner: Runner, cluster: Cluster, tmp_path: Path
):
    executor: Any = import_module("parpass.integrations.ray").RayExecutor
    with executor(1) as other:
        assert other.workers == 1
        with cluster.host("other"):
            until(lambda: other.workers == 2)
        until(lambda: other.workers == 1)


def test_a_cluster_without_free_processors_is_refused(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    connection: Any = import_module("parpass.integrations.ray.ray_connection")
    monkeypatch.setattr(connection, "DEFAULT_START_SECONDS", 1.0)
    executor: Any = import_module("parpass.integrations.ray").RayExecutor
    with pytest.raises(RuntimeUseError, match="no free processors for 1 s"):
        executor(12)


def test_a_process_that_is_connected_is_to_no_other_cluster(runner: Runner):
    refused = pytest.raises(RuntimeUseError, match="is connected to a Ray cluster")
    with refused, open_runner(executor="ray://other") as other:
        other.run_sync(program(1, 2), Add(1), context=pooled())


def test_a_connection_that_is_there_is_used_and_left(runner: Runner):
    with open_runner(executor="ray://auto?cpus=1") as other:
        assert run_pooled(other, Add(1), program(1, 2)) == program(2, 3)
    assert run_pooled(runner, Add(1), program(1, 2)) == program(2, 3)
