"""What a worker of Dask's keeps for an executor goes with that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import psutil
import pytest

from tests.adapters.dask.clusters import until

pytestmark = pytest.mark.slow


def test_a_process_that_begins_while_its_executor_closes_ends_with_it():
    site: Any = import_module("parpass.adapters.dask.site").Site()
    away: Any = import_module("parpass.adapters.dask.jobs_away")
    job = away.Call("executor", 1, bytes.upper, b"job", None, (), {}, {})
    me = psutil.Process()
    before = set(me.children())

    def tell(what: tuple[Any, ...]) -> None: ...

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(site.run, job, tell, lambda: False)
        until(lambda: set(me.children()) != before)
        site.close()
        assert isinstance(answer.result(), away.Lost)
    assert set(me.children()) == before
    assert site.kept() == (0, [])
