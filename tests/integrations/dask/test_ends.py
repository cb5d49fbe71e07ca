"""How runs on a Dask cluster end before their time: by a cancellation, or with it."""

from __future__ import annotations

import contextvars
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio

from parpass.errors import RuntimeUseError
from parpass.runner import JobCancelledError, Runner, open_runner
from parpass.transform import PassContext, Sequential
from tests.integrations.dask.ended_commands import end_command
from tests.runner.test_contextvars import Around, Note, seen
from tests.support.integrations.clusters import (
    client_of,
    cluster_of,
    dask,
    dask_config,
    executor_of,
    kept,
    scheduler_in,
)
from tests.support.other_processes import until
from tests.support.runner.pooled import POOLED, new_pipe, pooled, run_pooled
from tests.support.toy.ending import HangOnAll, end
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

pytestmark = pytest.mark.stress


def _fails_with_its_cluster(
    executor: Any, tmp_path: Path, end_cluster: Callable[[], None]
) -> None:
    """Have a cluster end while a pass runs there, and look what its executor says."""
    pipe = new_pipe(tmp_path)

    def end() -> None:
        pipe.read_text()
        end_cluster()

    threading.Thread(target=end).start()
    with (
        open_runner(executor=executor) as runner,
        pytest.raises(RuntimeUseError, match=r"Dask cluster at .* is lost"),
    ):
        run_pooled(runner, HangOnAll(str(pipe)), program(1))
    with pytest.raises(RuntimeUseError, match=r"Dask cluster at .* is lost"):
        executor.start()
    executor.close()


def _tasks(name: str, dask_scheduler: Any = None) -> list[str]:
    return [key for key in dask_scheduler.tasks if str(key).startswith(name)]


async def test_a_run_that_is_cancelled_ends_its_jobs_and_no_others(
    client: Any, tmp_path: Path
):
    pipe, held = new_pipe(tmp_path), tmp_path / "held"
    os.mkfifo(held)
    other = client.submit(Path.read_text, held)  # it has one of the two workers
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        with trio.fail_after(60), trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel() -> None:
                    await trio.to_thread.run_sync(pipe.read_text)
                    scope.cancel()

                nursery.start_soon(cancel)
                await runner.run(program(1, 1), HangOnAll(str(pipe)), context=pooled())
        assert scope.cancelled_caught
        until(lambda: not client.run_on_scheduler(_tasks, executor.name))
        assert other.status == "pending"
        held.write_text("held")
        assert other.result() == "held"
        made = await runner.run(program(1, 2), Add(1), context=pooled())
        assert made == program(2, 3)
    after = client.run(kept, executor.name).values()
    assert all(each == (0, []) for each in after)


def _seen_after(run: Any) -> tuple[str, ...]:
    def within() -> tuple[str, ...]:
        seen.set(("caller",))
        run(Sequential([Note("one"), Add(1), Note("two")]), [Around()])
        return seen.get()

    return contextvars.copy_context().run(within)


def test_what_passes_and_hooks_set_in_contextvars_is_seen_after_the_run(runner: Runner):
    def serially(root: Sequential, instruments: Any) -> None:
        with PassContext(instruments=instruments):
            root(program(1, 2))

    def there(root: Sequential, instruments: Any) -> None:
        context = PassContext(config=POOLED, instruments=instruments)
        runner.run_sync(program(1, 2), root, context=context)

    assert _seen_after(there) == _seen_after(serially)


def test_a_cluster_that_ends_ends_the_run_and_says_so(tmp_path: Path):
    with cluster_of(1) as cluster, client_of(cluster) as mine:
        _fails_with_its_cluster(executor_of(mine), tmp_path, cluster.close)


def test_a_scheduler_that_is_killed_ends_the_run_at_once_and_all_that_was_started(
    tmp_path: Path,
):
    # For as long as that clients try to reach it again.
    patiently = {"distributed.comm.timeouts.connect": "1 hour"}
    with (
        scheduler_in(tmp_path) as (scheduler, address),
        dask("worker", address, "--nthreads=1", "--no-dashboard", cwd=tmp_path) as one,
        dask_config(patiently),
        client_of(address) as client,
    ):
        client.wait_for_workers(1)
        ours: list[psutil.Process] = []

        def kill() -> None:
            ours.extend(filter(_is_ours, psutil.Process(one.pid).children(True)))
            os.kill(scheduler.pid, signal.SIGKILL)

        _fails_with_its_cluster(executor_of(client), tmp_path, kill)
        assert ours
        # Dask itself waits half a minute for what a worker runs.
        until(lambda: not any(each.is_running() for each in ours), seconds=20)


@pytest.fixture(scope="module")
def one_worker() -> Iterator[Any]:
    """Give a client of a cluster of one worker, whose idle processes are its own."""
    with cluster_of(1) as cluster, client_of(cluster) as client:
        yield client


@pytest.mark.parametrize(
    ("sent", "code"), [("SIGINT", 130), ("SIGTERM", -15), ("SIGKILL", -9)]
)
def test_a_command_that_is_ended_leaves_nothing_where_its_pass_ran(
    one_worker: Any, tmp_path: Path, sent: str, code: int
):
    address = one_worker.scheduler.address
    assert end_command(f"dask://{address}", tmp_path, sent) == code
    until(lambda: not one_worker.run_on_scheduler(_tasks, "Client-parpass"))


def _is_ours(process: psutil.Process) -> bool:
    return any("parpass" in word for word in process.cmdline())


def _hang(told: bytes) -> bytes:
    Path(os.fsdecode(told)).write_text("begun")
    end("hang")
    return b""


def test_an_error_that_leaves_its_block_ends_the_jobs_of_an_executor(
    client: Any, tmp_path: Path
):
    pipe = new_pipe(tmp_path)
    answers: list[Future[bytes]] = []

    def fail() -> None:
        with executor_of(client) as executor:
            answers.append(executor.submit(_hang, os.fsencode(pipe)))
            pipe.read_text()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(JobCancelledError):
        answers[0].result()
