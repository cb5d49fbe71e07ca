"""A worker agent ends its processes when its executor closes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import psutil
import pytest

from tests.support.other_processes import until

pytestmark = pytest.mark.slow


def test_an_executor_that_is_silent_for_long_is_closed(monkeypatch: pytest.MonkeyPatch):
    module: Any = import_module("parpass.integrations.dask.worker_agent")
    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.0)
    agent = module.agent_of("silent")
    assert not agent.closed.is_set()
    monkeypatch.setattr(module, "SILENT_SECONDS", -1.0)
    assert agent.closed.wait(60)
    assert module.agent_of("silent") is not agent
    module.close_agent("silent")


def test_a_process_that_begins_while_its_executor_closes_ends_with_it():
    agent: Any = import_module("parpass.integrations.dask.worker_agent").WorkerAgent()
    messages: Any = import_module("parpass.integrations.dask.dask_messages")
    job = messages.JobRequest("executor", 1, bytes.upper, b"job", None, (), {}, {})
    me = psutil.Process()
    before = set(me.children())

    def tell(what: tuple[Any, ...]) -> None: ...

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(agent.run, job, tell, lambda: False)
        until(lambda: bool(set(me.children()) - before))
        agent.close()
        assert isinstance(answer.result(), messages.ProcessDied)
    assert set(me.children()) <= before
    assert agent.resources() == (0, [])
