"""What runs on a Dask cluster gives what a serial run gives, whatever happens there.

Workers share nothing with this process but connections: each has a folder of its own.
"""

from __future__ import annotations

import copyreg
import os
import signal
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given

from parpass import IRModule, relay
from parpass.adapters.dask.site import site_of
from parpass.cli import main
from parpass.errors import FunctionTimeoutError, RuntimeUseError, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import PassContext, Sequential
from tests.adapters.xdsl.test_mlir_programs import PROGRAM
from tests.support.comparing import (
    Watchers,
    both,
    context_settings,
    instruments,
    law_on,
)
from tests.support.ending import EndIn
from tests.support.pooled import POOLED, new_pipe, pooled, run_pooled
from tests.support.toy_ir import Program, program, values_of
from tests.support.toy_passes import Add, AddFrom, Say
from tests.support.toy_pipelines import pipelines, programs, see

pytestmark = pytest.mark.slow


def cluster_of(workers: int, **settings: Any) -> Any:
    """Return a cluster of processes on this machine."""
    made: Any = import_module("distributed").LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", **settings
    )
    return made


def client_of(cluster: Any) -> Any:
    return import_module("distributed").Client(cluster)


@pytest.fixture(scope="module", autouse=True)
def _reducers() -> Iterator[None]:
    """Put back what Dask registers of how all exceptions are pickled."""
    before = dict(copyreg.dispatch_table)
    yield
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


def executor_of(client: Any) -> Any:
    # It imports Dask, which no other test is to have in its process.
    return import_module("parpass.adapters.dask").DaskExecutor(client)


@pytest.fixture(scope="module")
def client(_reducers: None) -> Iterator[Any]:
    with cluster_of(2) as cluster, client_of(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def dask_runner(client: Any) -> Iterator[Runner]:
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        yield runner


def test_the_law_holds_on_it_and_passes_read_other_functions(dask_runner: Runner):
    root = Sequential([Add(1), Say(), AddFrom("f1"), Add(2)])
    mod = program(*range(30))
    serial = see(root, mod)
    parallel = see(
        root,
        mod,
        run=lambda root, mod: dask_runner.run_sync(mod, root),
        settings={"config": POOLED},
    )
    assert parallel == serial


@pytest.mark.stress
@law_on(40)
@given(
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
)
def test_the_law_holds_for_all_pipelines(
    dask_runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    given_settings: dict[str, Any],
):
    serial, parallel = both(pipeline, mod, make, given_settings, dask_runner, POOLED)
    assert parallel == serial


def test_a_pass_that_kills_its_process_is_blamed_and_no_worker_of_dasks_is_lost(
    dask_runner: Runner, client: Any
):
    before = set(client.nthreads())
    with pytest.raises(WorkerDiedError, match="SIGSEGV") as caught:
        dask_runner.run_sync(program(*range(9)), EndIn("segfault", 7), context=pooled())
    assert caught.value.function == "f7"
    config = {**POOLED, "parpass.on_failure": "skip"}
    with PassContext(config=config):
        made = dask_runner.run_sync(program(6, 7, 8), EndIn("segfault", 7))
    assert values_of(made) == {"f0": (7,), "f1": (7,), "f2": (9,)}
    assert set(client.nthreads()) == before


@pytest.mark.stress
def test_a_pass_that_hangs_is_ended_at_its_limit(dask_runner: Runner):
    config = {**POOLED, "parpass.function_timeout": 0.3}
    with PassContext(config=config), pytest.raises(FunctionTimeoutError) as caught:
        dask_runner.run_sync(program(*range(4)), EndIn("hang", 3))
    assert caught.value.function == "f3"


def _kept(executor: str) -> tuple[int, list[str]]:
    return site_of(executor).kept()


@pytest.mark.stress
def test_large_constants_travel_with_their_functions(dask_runner: Runner):
    weights = relay.const([float(at) for at in range(20_000)])
    x = relay.var("x", shape=(20_000,))
    body = relay.add(x, relay.add(weights, weights))
    mod = IRModule.from_expr(relay.Function([x], body))
    root = Sequential([relay.transform.InferType(), relay.transform.FoldConstant()])
    there = run_pooled(dask_runner, root, mod)
    assert there.astext() == root(mod).astext()


@pytest.mark.stress
def test_the_command_has_a_cluster_run_passes(client: Any, tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    pooled = ["--config", "parpass.asking_workers_seconds=0.0"]
    arguments = ["opt", str(path), "-p", "canonicalize,cse", *pooled]
    address = client.scheduler.address
    there = CliRunner().invoke(main, [*arguments, "--dask", address])
    assert there.output == CliRunner().invoke(main, [*arguments, "-j0"]).output
    assert "func.func @first" in there.output


@pytest.mark.stress
def test_a_worker_of_dasks_that_is_killed_costs_its_jobs_alone(client: Any):
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        mod = program(*range(40))
        assert run_pooled(runner, Add(1), mod) == Add(1)(mod)
        [first, *_] = client.run(os.getpid).values()
        os.kill(first, signal.SIGKILL)
        assert run_pooled(runner, Add(2), mod) == Add(2)(mod)
        client.wait_for_workers(2)


@pytest.mark.stress
def test_nothing_is_left_on_the_cluster(client: Any):
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        run_pooled(runner, Add(1), program(*range(40)))
        before = client.run(_kept, executor.name)
        paths = [path for _, found in before.values() for path in found]
        assert paths
    assert not any(map(os.path.exists, paths))
    after = client.run(_kept, executor.name).values()
    assert all(kept == (0, []) for kept in after)


@pytest.mark.stress
def test_other_peoples_tasks_are_left_alone_when_all_jobs_are_ended(client: Any):
    with executor_of(client) as executor:
        other = client.submit(sum, [1, 2, 3], pure=False)
        executor.kill()
        assert other.result() == 6


class Begin(EndIn):
    """Tells by a pipe that it has begun, and hangs."""

    def __init__(self, pipe: Path) -> None:
        super().__init__("hang", 1)
        self.pipe = pipe

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        self.pipe.write_text("begun")
        return super().transform_function(func, mod, ctx)


@pytest.mark.stress
def test_a_cluster_that_ends_ends_the_run_and_says_so(tmp_path: Path):
    pipe = new_pipe(tmp_path)
    with cluster_of(1) as cluster, client_of(cluster) as mine:
        executor = executor_of(mine)

        def end() -> None:
            pipe.read_text()
            cluster.close()

        threading.Thread(target=end).start()
        with (
            open_runner(executor=executor) as runner,
            pytest.raises(RuntimeUseError, match="Dask cluster"),
        ):
            run_pooled(runner, Begin(pipe), program(1))
        with pytest.raises(RuntimeUseError, match="running Dask cluster"):
            executor.start()
        executor.close()
