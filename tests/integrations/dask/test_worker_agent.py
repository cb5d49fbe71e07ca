"""A worker agent ends its processes when its executor closes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.other_processes import until
from tests.support.runner.pooled import new_pipe

pytestmark = pytest.mark.slow


def _tell(what: tuple[Any, ...]) -> None: ...


def test_an_executor_that_is_silent_for_long_is_closed(monkeypatch: pytest.MonkeyPatch):
    module: Any = import_module("parpass.integrations.dask.worker_agent")
    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.0)
    agent = module.agent_of("silent")
    assert not agent.closed.is_set()
    monkeypatch.setattr(module, "SILENT_SECONDS", -1.0)
    assert agent.closed.wait(60)
    assert module.agent_of("silent") is not agent
    module.close_agent("silent")


@pytest.mark.parametrize("ending", ["job", "executor"])
def test_a_process_that_does_not_get_ready_ends_with_its_job_or_its_executor(
    tmp_path: Path, ending: str
):
    begun = new_pipe(tmp_path)
    Path(tmp_path, "sitecustomize.py").write_text(
        f"import ctypes, pathlib\npathlib.Path({str(begun)!r}).write_text('begun')\n"
        "ctypes.CDLL(None).pause()\n"
    )
    agent: Any = import_module("parpass.integrations.dask.worker_agent").WorkerAgent()
    messages: Any = import_module("parpass.integrations.dask.dask_messages")
    environment = {"PYTHONPATH": str(tmp_path)}
    job = messages.JobRequest(
        "executor", 1, bytes.upper, b"job", None, (), {}, environment
    )
    me = psutil.Process()
    before = set(me.children())
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(agent.run, job, _tell, lambda: False)
        begun.read_text()
        ends = {"job": lambda: agent.end(1), "executor": agent.close}
        ends[ending]()
        try:
            assert isinstance(answer.result(60), messages.ProcessDied)
        finally:
            for child in set(me.children()) - before:
                child.kill()
    assert agent.resources() == (0, [])


def test_a_job_that_comes_when_it_was_ended_and_its_run_forgotten_leaves_nothing():
    agent: Any = import_module("parpass.integrations.dask.worker_agent").WorkerAgent()
    messages: Any = import_module("parpass.integrations.dask.dask_messages")
    stage = messages.StageInfo("run", 1, 0, messages.digest_of(b"spec"))
    parts = {stage.spec: b"spec"}
    job = messages.JobRequest("executor", 1, bytes.upper, b"", stage, (), parts, {})
    agent.end(1)
    agent.forget("run")
    assert isinstance(agent.run(job, _tell, lambda: False), messages.ProcessDied)
    assert agent.resources() == (0, [])
    agent.close()


def test_a_process_that_begins_while_its_executor_closes_ends_with_it():
    agent: Any = import_module("parpass.integrations.dask.worker_agent").WorkerAgent()
    messages: Any = import_module("parpass.integrations.dask.dask_messages")
    job = messages.JobRequest("executor", 1, bytes.upper, b"job", None, (), {}, {})
    me = psutil.Process()
    before = set(me.children())

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(agent.run, job, _tell, lambda: False)
        until(lambda: bool(set(me.children()) - before))
        agent.close()
        assert isinstance(answer.result(), messages.ProcessDied)
    assert set(me.children()) <= before
    assert agent.resources() == (0, [])
