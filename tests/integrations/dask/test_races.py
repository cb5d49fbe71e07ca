"""What happens on a cluster at the worst moment; each moment is held open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import RuntimeUseError, SlowerRunWarning
from parpass.runner import JobLostError, Runner, open_runner
from parpass.spi import StorageError
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.support.integrations.clusters import (
    client_of,
    cluster_of,
    dask,
    dask_config,
    executor_of,
    scheduler_in,
)
from tests.support.other_processes import until
from tests.support.runner.costs import forget_costs
from tests.support.runner.large import Doubled, weighted
from tests.support.runner.pooled import new_pipe, run_pooled
from tests.support.toy.ending import end
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
_SECONDS = 100

_connection: Any = import_module("parpass.integrations.dask.dask_connection")
_DaskConnection: Any = _connection.DaskConnection


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def _no_room(executor: str, run: str, stage: int, functions: object) -> None:
    raise StorageError("no room for functions")


def _refuse(executor: str, run: str, stage: int, functions: object) -> None:
    raise ValueError("refused")


class AddFromSkipped(FunctionPass):
    """Appends the numbers of a function of another job, so that it is requested."""

    pass_info = PassInfo(0, "AddFromSkipped")

    def __init__(self) -> None:
        self.table = bytes(1_000_000)  # so that jobs do not have all of the stage

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        return func.with_values((*func.values, *mod["skipped"].values))


READS_OTHERS = Sequential([Add(1), AddFromSkipped()])


def _with_skipped() -> Program:
    skipped = Fn((7,), skip=True)
    return Program({**program(*range(30)).functions, "skipped": skipped})


def _run_in(threads: ThreadPoolExecutor, runner: Runner, mod: Program) -> Program:
    """Return what a run makes that may hang, in jobs of a few functions each."""
    forget_costs()  # else one job may have all of them, and nothing is requested
    return threads.submit(run_pooled, runner, READS_OTHERS, mod).result(_SECONDS)


def test_a_run_goes_on_here_when_a_worker_has_no_room_for_functions(
    client: Any, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
):
    client_run: Any = import_module("parpass.integrations.dask.client_run")
    monkeypatch.setattr(client_run, "put_functions_on_worker", _no_room)
    mod = _with_skipped()
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        with pytest.warns(SlowerRunWarning, match="no room for functions"):
            made = _run_in(threads, runner, mod)
        assert made == READS_OTHERS(mod)
        monkeypatch.undo()
        assert run_pooled(runner, READS_OTHERS, mod) == READS_OTHERS(mod)


def test_a_run_fails_when_functions_cannot_be_sent_to_a_worker(
    client: Any, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
):
    client_run: Any = import_module("parpass.integrations.dask.client_run")
    monkeypatch.setattr(client_run, "put_functions_on_worker", _refuse)
    mod = _with_skipped()
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        with pytest.raises(RuntimeUseError, match=r"could not be sent.*refused"):
            _run_in(threads, runner, mod)
        monkeypatch.undo()
        assert run_pooled(runner, READS_OTHERS, mod) == READS_OTHERS(mod)


@pytest.mark.parametrize(
    "call",
    ["put_blob_on_worker", "store_parts_on_worker", "put_functions_on_worker"],
)
def test_a_worker_that_cannot_be_reached_for_a_moment_costs_its_jobs_alone(
    client: Any, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor, call: str
):
    distributed: Any = import_module("distributed")
    dispatch: Any = import_module("parpass.integrations.dask.dispatch")
    client_run: Any = import_module("parpass.integrations.dask.client_run")
    monkeypatch.setattr(dispatch, "_LITTLE", 0)
    monkeypatch.setattr(client_run, "_MAX_PART_BYTES", 0)
    run = distributed.Client.run
    failed: list[str] = []

    def fail_once(client: Any, what: Any, *args: Any, **settings: Any) -> Any:
        if args and args[0].__name__ == call and not failed:
            failed.append(call)
            return {at: OSError("it cannot be reached") for at in settings["workers"]}
        return run(client, what, *args, **settings)

    monkeypatch.setattr(distributed.Client, "run", fail_once)
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        if call == "put_blob_on_worker":
            mod = weighted(3)
            ran = threads.submit(run_pooled, runner, Doubled(), mod)
            assert ran.result(_SECONDS).astext() == Doubled()(mod).astext()
        else:
            mod = _with_skipped()
            assert _run_in(threads, runner, mod) == READS_OTHERS(mod)
    assert failed


def test_a_worker_that_cannot_be_reached_at_first_is_used_later(
    client: Any, monkeypatch: pytest.MonkeyPatch
):
    distributed: Any = import_module("distributed")
    run = distributed.Client.run
    failed: list[str] = []

    def fail_once(client: Any, what: Any, *args: Any, **settings: Any) -> Any:
        found = run(client, what, *args, **settings)
        if not failed:
            failed.append(next(iter(found)))
            found[failed[0]] = OSError("it cannot be reached")
        return found

    monkeypatch.setattr(distributed.Client, "run", fail_once)
    with executor_of(client) as executor:
        assert failed
        until(lambda: executor.workers == 2)


def test_a_scheduler_that_is_lost_during_a_call_is_told_as_such(
    client: Any, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
):
    distributed: Any = import_module("distributed")
    run = distributed.Client.run

    def fail(client: Any, what: Any, *args: Any, **settings: Any) -> Any:
        if args and args[0].__name__ == "put_functions_on_worker":
            raise OSError("closed")
        return run(client, what, *args, **settings)

    monkeypatch.setattr(distributed.Client, "run", fail)
    with (
        executor_of(client) as executor,
        open_runner(executor=executor) as runner,
        pytest.raises(RuntimeUseError, match="is lost"),
    ):
        _run_in(threads, runner, _with_skipped())


def test_a_job_that_is_submitted_while_the_executor_closes_is_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
):
    executor = executor_of(client)
    is_checked, is_closed = threading.Event(), threading.Event()
    check = _DaskConnection.check

    def check_and_wait(connection: Any) -> None:
        check(connection)
        monkeypatch.undo()
        is_checked.set()
        is_closed.wait(_SECONDS)

    monkeypatch.setattr(_DaskConnection, "check", check_and_wait)
    submitted = threads.submit(
        lambda: executor.submit(bytes.upper, b"a").result(_SECONDS)
    )
    assert is_checked.wait(_SECONDS)
    executor.close()
    is_closed.set()
    with pytest.raises(RuntimeUseError, match="closed"):
        submitted.result(_SECONDS)


def test_a_worker_that_has_left_before_it_joins_gets_no_jobs(
    client: Any, monkeypatch: pytest.MonkeyPatch
):
    module: Any = import_module("parpass.integrations.dask.dask_executor")
    left = threading.Event()
    on_join, on_leave = module.DaskExecutor._on_join, module.DaskExecutor._on_leave
    joining: list[str] = []

    def join_late(executor: Any, address: str, count: int) -> None:
        joining.append(address)
        if len(joining) == 3:
            assert left.wait(_SECONDS)
        on_join(executor, address, count)

    def leave(executor: Any, address: str) -> None:
        on_leave(executor, address)
        if address == joining[-1]:
            left.set()

    monkeypatch.setattr(module.DaskExecutor, "_on_join", join_late)
    monkeypatch.setattr(module.DaskExecutor, "_on_leave", leave)
    with executor_of(client) as executor:
        assert executor.workers == 2
        client.cluster.scale(3)
        until(lambda: len(joining) == 3)
        client.cluster.scale(2)
        until(left.is_set)
        until(lambda: executor.workers == 2)


def _hang(told: bytes) -> bytes:
    Path(os.fsdecode(told)).write_text("begun")
    end("hang")
    return b""


def _tasks(name: str, dask_scheduler: Any = None) -> list[str]:
    return [key for key in dask_scheduler.tasks if str(key).startswith(name)]


@pytest.fixture
def listeners(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Give what connections call when workers join and leave."""
    found: list[tuple[Any, Any]] = []
    opens = _DaskConnection.open

    def open_and_tell(connection: Any, on_join: Any, on_leave: Any) -> None:
        found.append((on_join, on_leave))
        opens(connection, on_join, on_leave)

    monkeypatch.setattr(_DaskConnection, "open", open_and_tell)
    return found


def test_who_is_told_of_a_lost_job_may_use_its_executor(
    client: Any, tmp_path: Path, listeners: list[tuple[Any, Any]]
):
    pipe = new_pipe(tmp_path)
    ended: list[bool] = []

    def use_in_a_thread(answer: Future[bytes]) -> None:
        thread = threading.Thread(target=executor.end, args=(answer,), daemon=True)
        thread.start()
        thread.join(5)
        ended.append(not thread.is_alive())

    with executor_of(client) as executor:
        [(_, on_leave)] = listeners
        answer = executor.submit(_hang, os.fsencode(pipe))
        answer.add_done_callback(use_in_a_thread)
        pipe.read_text()
        for address in client.nthreads():
            on_leave(address)
        assert isinstance(answer.exception(_SECONDS), JobLostError)
        assert ended == [True]


def test_a_job_whose_worker_leaves_while_it_is_sent_is_not_left_on_the_cluster(
    client: Any,
    tmp_path: Path,
    listeners: list[tuple[Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
):
    is_sending, has_left, is_sent = (threading.Event() for _ in range(3))
    submit = _DaskConnection.submit

    def submit_late(connection: Any, *args: Any) -> Any:
        is_sending.set()
        has_left.wait(_SECONDS)
        future = submit(connection, *args)
        is_sent.set()
        return future

    monkeypatch.setattr(_DaskConnection, "submit", submit_late)
    pipe = new_pipe(tmp_path)
    with executor_of(client) as executor:
        [(_, on_leave)] = listeners
        answer = executor.submit(_hang, os.fsencode(pipe))
        assert is_sending.wait(_SECONDS)
        for address in client.nthreads():
            on_leave(address)
        assert isinstance(answer.exception(_SECONDS), JobLostError)
        has_left.set()
        assert is_sent.wait(_SECONDS)
        until(lambda: not client.run_on_scheduler(_tasks, executor.name))


@pytest.mark.stress
def test_a_worker_whose_end_was_not_told_is_missed_soon(
    monkeypatch: pytest.MonkeyPatch,
):
    """As when it ends while the connection to the scheduler is lost for a moment."""
    monkeypatch.setattr(_connection, "SILENT_SECONDS", 0.4)
    distributed: Any = import_module("distributed")
    subscribe = distributed.Client.subscribe_topic

    def subscribe_to_little(client: Any, topic: str, handler: Any) -> None:
        subscribe(client, topic, print if topic == "all" else handler)

    with cluster_of(2) as cluster, client_of(cluster) as client:
        monkeypatch.setattr(distributed.Client, "subscribe_topic", subscribe_to_little)
        with executor_of(client) as executor:
            assert executor.workers == 2
            cluster.scale(1)
            until(lambda: executor.workers == 1)


@pytest.mark.stress
def test_a_job_that_is_sent_while_the_scheduler_is_lost_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    distributed: Any = import_module("distributed")
    submit = distributed.Client.submit
    with (
        scheduler_in(tmp_path) as (scheduler, address),
        dask("worker", address, "--nthreads=1", "--no-dashboard", cwd=tmp_path),
        dask_config({"distributed.comm.timeouts.connect": "1 hour"}),
        client_of(address) as client,
    ):
        client.wait_for_workers(1)
        executor = executor_of(client)

        def submit_late(connection: Any, *args: Any, **settings: Any) -> Any:
            os.kill(scheduler.pid, signal.SIGKILL)
            until(lambda: connection.status != "running")
            return submit(connection, *args, **settings)

        monkeypatch.setattr(distributed.Client, "submit", submit_late)
        answer = executor.submit(bytes.upper, b"a")
        with pytest.raises(RuntimeUseError, match="is lost"):
            answer.result(_SECONDS)
        executor.close()


def _keep_no_parts(executor: str) -> None:
    agents: Any = import_module("parpass.integrations.dask.worker_agent")
    agents.agent_of(executor)._parts._most = 10


def test_a_worker_that_cannot_keep_what_a_stage_needs_is_sent_it_with_the_job(
    client: Any, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
):
    dispatch: Any = import_module("parpass.integrations.dask.dispatch")
    monkeypatch.setattr(dispatch, "_LITTLE", 0)
    mod = _with_skipped()
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        client.run(_keep_no_parts, executor.name)
        try:
            assert _run_in(threads, runner, mod) == READS_OTHERS(mod)
        except TimeoutError:
            executor.kill()
            raise


FORKED = """
import os, signal, sys
from parpass.errors import RuntimeUseError
from parpass.runner import open_runner
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

if __name__ == "__main__":
    url = "dask://" + sys.argv[1].removeprefix("tcp://")
    with open_runner(executor=url) as runner:
        assert run_pooled(runner, Add(1), program(*range(9)))
        child = os.fork()
        if not child:
            signal.alarm(100)
            try:
                run_pooled(runner, Add(1), program(1))
            except RuntimeUseError as error:
                sys.exit("forked" not in str(error))
            sys.exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert run_pooled(runner, Add(1), program(*range(9)))
    print("done")
"""


@pytest.mark.stress
def test_a_process_that_is_forked_off_is_told_to_open_an_executor_of_its_own(
    client: Any,
):
    _run(FORKED, client)


AT_EXIT = """
import atexit, sys
from parpass.errors import RuntimeUseError
from tests.support.integrations.clusters import client_of, executor_of
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add
from parpass.runner import open_runner

def run():
    try:
        print(run_pooled(runner, Add(1), program(1, 2)))
    except RuntimeUseError as error:
        assert "before the program exits" in str(error)
        print("done")

if __name__ == "__main__":
    client = client_of(sys.argv[1])
    executor = executor_of(client)
    runner = open_runner(executor=executor)
    assert run_pooled(runner, Add(1), program(*range(9)))
    atexit.register(run)
"""


@pytest.mark.stress
def test_a_run_at_the_exit_of_a_program_fails_at_once(client: Any):
    _run(AT_EXIT, client)


def _run(text: str, client: Any) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", text, client.scheduler.address],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert (ended.stdout, ended.returncode) == ("done\n", 0), ended.stderr
