"""WorkerMemory: adds the memory that passes took in workers to that of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parpass.runner.observers import RunObserver

if TYPE_CHECKING:
    from parpass.runner.ipc.messages import JobResult
    from parpass.transform.capture.pass_memory import PassMemory


class WorkerMemory(RunObserver):
    """Adds what workers measured to `memory`; see `PassContext.memory`."""

    def __init__(self, memory: Sequence[PassMemory]) -> None:
        self._memory = memory

    def job_returned(self, size: int, result: JobResult) -> None:
        if result.findings.memory is not None:
            for one in self._memory:
                one.merge(result.findings.memory)
