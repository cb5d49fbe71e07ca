"""How runs on a Dask cluster end before their time: by a cancellation, or with it."""

from __future__ import annotations

import contextvars
import os
import signal
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio

from parpass.errors import RuntimeUseError
from parpass.runner import Runner, open_runner
from parpass.transform import PassContext, Sequential
from tests.adapters.dask.clusters import (
    client_of,
    dask,
    executor_of,
    kept,
    scheduler_in,
    until,
)
from tests.adapters.dask.test_dask_executor import Begin
from tests.runner.test_contextvars import Around, Note, seen
from tests.support.pooled import POOLED, new_pipe, pooled, run_pooled
from tests.support.toy_ir import program
from tests.support.toy_passes import Add

pytestmark = pytest.mark.stress


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
                await runner.run(program(1, 1), Begin(pipe), context=pooled())
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


def test_a_scheduler_that_is_killed_ends_the_run_and_all_that_was_started(
    tmp_path: Path,
):
    pipe = new_pipe(tmp_path)
    with (
        scheduler_in(tmp_path) as (scheduler, address),
        dask("worker", address, "--nthreads=1", "--no-dashboard", cwd=tmp_path) as one,
        client_of(address) as client,
    ):
        client.wait_for_workers(1)
        executor = executor_of(client)
        ours: list[psutil.Process] = []

        def kill() -> None:
            pipe.read_text()
            ours.extend(filter(_is_ours, psutil.Process(one.pid).children(True)))
            os.kill(scheduler.pid, signal.SIGKILL)

        threading.Thread(target=kill).start()
        with (
            open_runner(executor=executor) as runner,
            pytest.raises(RuntimeUseError, match="Dask cluster"),
        ):
            run_pooled(runner, Begin(pipe), program(1))
        with pytest.raises(RuntimeUseError, match="running Dask cluster"):
            executor.start()
        executor.close()
        assert ours
        # Dask itself waits half a minute for what a worker runs.
        until(lambda: not any(each.is_running() for each in ours), seconds=20)


def _is_ours(process: psutil.Process) -> bool:
    return any("parpass" in word for word in process.cmdline())
