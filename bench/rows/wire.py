"""Row `wire`: the bytes that cross for each function and pass."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import parpass
from bench.counting import CountingAdapter
from bench.measure import Figure, Setting
from bench.table import Line, Row
from bench.work import USE_WORKERS, Work, light_pass, light_passes, no_pass
from parpass import IRModule, Pass, PassContext
from parpass.runner.pool.worker_pool import Pool
from parpass.transform import register_adapter

_NODES = 300


class _CountingExecutor(Pool):
    """Counts the messages to and from its workers."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._jobs: list[int] = []
        self._answers: list[Future[bytes]] = []

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        answer = super().submit(run, job, seconds, owner=owner)
        self._jobs.append(len(job))
        self._answers.append(answer)
        return answer

    def message_bytes(self) -> int:
        """Return the size of all jobs and answers."""
        return sum(self._jobs) + sum(len(one.result()) for one in self._answers)


def _wire(setting: Setting) -> Iterator[Line]:
    mod = Work(setting.scaled(300, setting.workers), _NODES, no_pass).module()
    kinds = {
        "eight light passes": light_passes(),
        "one light pass": light_pass(),
        "one no-op pass": no_pass(),
    }
    executor = _CountingExecutor(setting.workers)
    for what, passes in kinds.items():
        yield _measured(what, mod, passes, executor)
    executor.close()


def _measured(
    what: str, mod: IRModule, passes: Sequence[Pass], executor: _CountingExecutor
) -> Line:
    messages = executor.message_bytes()
    with (
        tempfile.TemporaryDirectory() as folder,
        parpass.open_runner(executor=executor) as runner,
        PassContext(config=USE_WORKERS),
    ):
        adapter = CountingAdapter(folder)
        register_adapter(IRModule, adapter)
        runner.run_sync(mod, passes)
        counts = adapter.counts()
    there = counts.pop(os.getpid()).encoded_bytes
    back = sum(one.encoded_bytes for one in counts.values())
    messages = executor.message_bytes() - messages
    count = len(mod.functions)
    return Line(
        f"{what} on {count:,} functions of {_NODES} nodes",
        "encoded functions, there and back, for each function and pass",
        Figure((there + back) / count / len(passes), unit="bytes"),
        note=f"{there / count:,.0f} bytes a function there, {back / count:,.0f} back; "
        f"jobs and answers, with the functions in them, {messages / count:,.0f}",
    )


ROWS = (Row("wire", _wire),)
