"""The same pipeline in parallel: function passes over a pool of processes.

Names load when they are first used: the workers import this package too, and must stay
light (no trio, no loky).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.runner.api import (
        Runner,
        end_idle_workers,
        open_runner,
        run_pipeline,
        run_pipeline_sync,
    )
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.cache.http_layer import HttpLayer
    from parpass.runner.cache.layers import CacheLayer
    from parpass.runner.executor import (
        Executor,
        JobCancelledError,
        JobLostError,
        NoWorkersError,
    )
    from parpass.runner.ipc.propagation import propagate
    from parpass.runner.report.notebook_progress import NotebookProgress
    from parpass.runner.report.report import RunReport
    from parpass.runner.stage.progress import (
        Progress,
        WorkerActivity,
        watching_progress,
    )
    from parpass.runner.worker.jobs import begin_worker

__all__ = [
    "CacheLayer",
    "Executor",
    "FunctionCache",
    "HttpLayer",
    "JobCancelledError",
    "JobLostError",
    "NoWorkersError",
    "NotebookProgress",
    "Progress",
    "RunReport",
    "Runner",
    "WorkerActivity",
    "begin_worker",
    "end_idle_workers",
    "open_runner",
    "propagate",
    "run_pipeline",
    "run_pipeline_sync",
    "watching_progress",
]


_HOMES = {
    "CacheLayer": "cache.layers",
    "Executor": "executor",
    "FunctionCache": "cache.function_cache",
    "HttpLayer": "cache.http_layer",
    "JobCancelledError": "executor",
    "JobLostError": "executor",
    "NoWorkersError": "executor",
    "NotebookProgress": "report.notebook_progress",
    "Progress": "stage.progress",
    "RunReport": "report.report",
    "WorkerActivity": "stage.progress",
    "begin_worker": "worker.jobs",
    "propagate": "ipc.propagation",
    "watching_progress": "stage.progress",
}

__getattr__, __dir__ = attach_lazy(
    __name__,
    {name: f"parpass.runner.{_HOMES.get(name, 'api')}" for name in __all__},
)
