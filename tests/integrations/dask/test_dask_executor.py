"""What runs on a Dask cluster gives what a serial run gives, whatever happens there.

Workers share nothing with this process but connections: each has a folder of its own.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import re
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner
from hypothesis import given

import parpass
from parpass import assert_structural_equal, relay
from parpass.cli import main
from parpass.errors import FunctionTimeoutError, RuntimeUseError, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.integrations.xdsl.test_xdsl_adapter import PROGRAM
from tests.relay.test_build_module import digest
from tests.support.integrations.clusters import (
    client_of,
    dask,
    dask_config,
    executor_of,
    kept,
    scheduler_in,
)
from tests.support.other_processes import until, unused_port
from tests.support.runner.comparing import (
    Watchers,
    both,
    context_settings,
    instruments,
    law_on,
)
from tests.support.runner.large import Doubled, weighted
from tests.support.runner.pooled import POOLED, pooled, run_pooled
from tests.support.toy.ending import EndIn, end
from tests.support.toy.ir import Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, Say
from tests.support.toy.pipelines import pipelines, programs, see

pytestmark = pytest.mark.slow


def test_the_law_holds_on_it_and_passes_read_other_functions(runner: Runner):
    root = Sequential([Add(1), Say(), AddFrom("f1"), Add(2)])
    mod = program(*range(30))
    serial = see(root, mod)
    parallel = see(
        root,
        mod,
        run=lambda root, mod: runner.run_sync(mod, root),
        settings={"config": POOLED},
    )
    assert parallel == serial


def test_a_small_isolated_run_is_one_job_and_a_crash_in_it_has_a_name(client: Any):
    steps = Sequential([Add(1), AddFrom("f0")])
    with (
        executor_of(client) as executor,
        open_runner(executor=executor, isolated=True) as runner,
    ):
        for mod in (program(1), program(2)):
            assert runner.run_sync(mod, steps) == steps(mod)
            assert runner.last_report is not None
            assert runner.last_report.jobs == 1
        with pytest.raises(WorkerDiedError) as caught:
            runner.run_sync(program(1), [Add(1), EndIn("exit", 2)])
        assert (caught.value.pass_name, caught.value.function) == ("EndIn", "f0")


def test_a_runner_is_given_a_cluster_by_its_url(client: Any):
    address = client.scheduler.address.removeprefix("tcp://")
    root = Sequential([Add(1), AddFrom("f1")])
    with open_runner(executor=f"dask://{address}") as runner:
        made = runner.run_sync(program(*range(9)), root, context=pooled())
        assert runner.last_report is not None
        assert runner.last_report.workers == 2
    assert made == root(program(*range(9)))
    assert client.status == "running"


def test_an_address_without_a_scheduler_is_named():
    url = f"dask://127.0.0.1:{unused_port()}"
    config = dask_config({"distributed.comm.timeouts.connect": 1})
    address = url.replace("dask", "tcp")
    refused = pytest.raises(RuntimeUseError, match=f"answers at '{address}'")
    with config, open_runner(executor=url) as runner, refused:
        runner.run_sync(program(1), Add(1))


# Hypothesis looks whether the state of `random` is the same after drawing, and threads
# of Dask's in this process draw from it meanwhile.
@pytest.mark.filterwarnings(
    "ignore:Do not use the `random` module"
    ":hypothesis.errors.HypothesisDeprecationWarning"
)
@pytest.mark.stress
@law_on(2)
@given(
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
)
def test_the_law_holds_for_all_pipelines(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    given_settings: dict[str, Any],
):
    serial, parallel = both(pipeline, mod, make, given_settings, runner, POOLED)
    assert parallel == serial


def test_a_pass_that_kills_its_process_is_blamed_and_no_worker_of_dasks_is_lost(
    runner: Runner, client: Any
):
    before = set(client.nthreads())
    with pytest.raises(WorkerDiedError, match="SIGSEGV") as caught:
        runner.run_sync(program(*range(9)), EndIn("segfault", 7), context=pooled())
    assert caught.value.function == "f7"
    config = {**POOLED, "parpass.on_failure": "skip"}
    with PassContext(config=config):
        made = runner.run_sync(program(6, 7, 8), EndIn("segfault", 7))
    assert values_of(made) == {"f0": (7,), "f1": (7,), "f2": (9,)}
    assert set(client.nthreads()) == before


@pytest.mark.stress
def test_a_pass_that_hangs_is_ended_at_its_limit(runner: Runner):
    config = {**POOLED, "parpass.function_timeout": 0.3}
    with PassContext(config=config), pytest.raises(FunctionTimeoutError) as caught:
        runner.run_sync(program(*range(4)), EndIn("hang", 3))
    assert caught.value.function == "f3"


@pytest.mark.parametrize(
    "side", [100, pytest.param(400, marks=pytest.mark.stress, id="asked for")]
)
def test_large_values_are_brought_and_those_that_are_made_come_back(
    runner: Runner, side: int
):
    mod = weighted(6, side)
    # The second stage is given values that workers of the first have made.
    barrier = relay.transform.RemoveUnusedFunctions(["f0", "f1", "f2", "f3", "f4"])
    root = Sequential([Doubled(), barrier, Doubled()])
    there = run_pooled(runner, root, mod)
    assert there.astext() == root(mod).astext()
    for name in ("f0", "f4"):
        assert_structural_equal(there[name], root(mod)[name])


@pytest.mark.stress
def test_a_network_is_compiled_to_the_same_library(runner: Runner):
    assert digest(runner=runner, config=POOLED) == digest(workers=0)


@pytest.mark.stress
def test_the_command_has_a_cluster_run_passes(client: Any, tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    pooled = ["--config", "parpass.asking_workers_seconds=0.0"]
    arguments = ["opt", str(path), "-p", "canonicalize,cse", *pooled]
    address = client.scheduler.address
    there = CliRunner().invoke(main, [*arguments, "--dask", address])
    assert there.stdout == CliRunner().invoke(main, [*arguments, "-j0"]).stdout
    assert "func.func @first" in there.stdout
    told = there.stderr.splitlines()  # of its progress, where it takes long
    assert [line for line in told if not line.startswith("Progress: ")] == []


class KillWorker(FunctionPass):
    """Kills the worker of Dask's on a number, if a file is there, which goes; adds 1.

    Its own process ends with that one, and does nothing until then. Without a file it
    kills each time.
    """

    pass_info = PassInfo(0, "KillWorker")

    def __init__(self, number: int, flag: Path | None = None) -> None:
        self.number, self.flag = number, flag

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        kills = self.number in func.values
        if kills and (self.flag is None or self.flag.exists()):
            if self.flag is not None:
                self.flag.unlink()
            parent = psutil.Process(os.getppid())
            if any("spawn_main" in word for word in parent.cmdline()):
                parent.kill()  # else it is dead, and its child another one's by now
            end("hang")
        return func.with_values(value + 1 for value in func.values)


@pytest.mark.stress
def test_a_worker_of_dasks_that_is_killed_at_work_costs_its_jobs_alone(
    runner: Runner, client: Any, tmp_path: Path
):
    flag, mod = tmp_path / "flag", program(*range(40))
    flag.touch()
    # A `LocalCluster` gives a worker up that takes longer to be there again.
    with dask_config({"distributed.deploy.lost-worker-timeout": "10 minutes"}):
        made = run_pooled(runner, KillWorker(7, flag), mod)
        assert not flag.exists()
        assert made == Add(1)(mod)
        client.wait_for_workers(2)


@pytest.mark.stress
def test_who_kills_each_worker_of_dasks_is_blamed_and_the_others_are_done(
    tmp_path: Path,
):
    """Dask would give the job to one worker after the other."""
    with (
        # A `LocalCluster` gives a worker up that is missing some seconds after it died.
        scheduler_in(tmp_path) as (_, address),
        dask("worker", address, "--nthreads=1", "--no-dashboard", cwd=tmp_path),
        client_of(address) as mine,
        PassContext(config={**POOLED, "parpass.on_failure": "skip"}),
    ):
        mine.wait_for_workers(1)
        with executor_of(mine) as executor, open_runner(executor=executor) as runner:
            made = runner.run_sync(program(6, 7, 8), KillWorker(7))
    assert values_of(made) == {"f0": (7,), "f1": (7,), "f2": (9,)}


@pytest.mark.stress
def test_workers_that_come_later_are_used(client: Any):
    with executor_of(client) as executor:
        assert executor.workers == 2
        client.cluster.scale(3)
        client.wait_for_workers(3)
        until(lambda: executor.workers == 3)
        client.cluster.scale(2)
        until(lambda: executor.workers == 2)


@pytest.mark.stress
def test_a_worker_of_dasks_that_is_killed_between_runs_is_missed_by_none(client: Any):
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        mod = program(*range(40))
        assert run_pooled(runner, Add(1), mod) == Add(1)(mod)
        [first, *_] = client.run(os.getpid).values()
        os.kill(first, signal.SIGKILL)
        assert run_pooled(runner, Add(2), mod) == Add(2)(mod)
        client.wait_for_workers(2)


def test_workers_of_another_version_are_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch
):
    here = re.escape(parpass.__version__)
    monkeypatch.setattr(parpass, "__version__", "0.0.1")
    told = rf"parpass 0\.0\.1, .* got parpass {here}"
    with pytest.raises(RuntimeUseError, match=told):
        executor_of(client)


def test_a_client_that_is_closed_is_refused(client: Any):
    other = client_of(client.scheduler.address)
    other.close()
    with pytest.raises(RuntimeUseError, match="running Dask cluster"):
        executor_of(other)


@pytest.mark.stress
def test_nothing_is_left_on_the_cluster(client: Any):
    # The scheduler keeps what clients have told for an hour.
    at_once = {"distributed.scheduler.events-cleanup-delay": "1ms"}
    with (
        dask_config(at_once),
        executor_of(client) as executor,
        open_runner(executor=executor) as runner,
    ):
        run_pooled(runner, Add(1), program(*range(40)))
        before = client.run(kept, executor.name)
        paths = [path for _, found in before.values() for path in found]
        assert paths
        assert executor.name in client.get_events()
    assert not any(map(os.path.exists, paths))
    after = client.run(kept, executor.name).values()
    assert all(each == (0, []) for each in after)
    until(lambda: executor.name not in client.get_events())


def _function_files() -> list[str]:
    links = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    paths: list[str] = []
    for link in links:
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            paths.append(os.readlink(link))
    return [path for path in paths if "/functions-" in path]


def test_an_executor_keeps_nothing_of_runs_that_have_ended(client: Any):
    client_run: Any = import_module("parpass.integrations.dask.client_run")
    large = client_run._MAX_PART_BYTES
    mod = weighted(3, math.isqrt(large // 4) + 1)
    barrier = relay.transform.RemoveUnusedFunctions(["f0", "f1", "f2"])
    root = Sequential([Doubled(), barrier, Doubled()])

    def client_runs() -> list[Any]:
        gc.collect()
        return [
            one for one in gc.get_objects() if isinstance(one, client_run.ClientRun)
        ]

    runs, files = len(client_runs()), len(_function_files())
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        for _ in range(3):
            run_pooled(runner, root, mod)
        run_pooled(runner, Add(1), program(*range(40)))
        until(lambda: len(client_runs()) <= runs + 1)
        until(lambda: len(_function_files()) <= files + 1)

        def folders() -> list[int]:
            there = client.run(kept, executor.name).values()
            return [len(found) for _, found in there]

        until(lambda: max(folders()) <= 1)


@pytest.mark.stress
def test_other_peoples_tasks_are_left_alone_when_all_jobs_are_ended(client: Any):
    with executor_of(client) as executor:
        other = client.submit(sum, [1, 2, 3], pure=False)
        executor.kill()
        assert other.result() == 6
