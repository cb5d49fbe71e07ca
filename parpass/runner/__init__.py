"""Parallel runs: the same pipeline, with function passes over a pool of processes.

Names load on first use: workers import this package, too, and must stay light (no trio,
no loky). The names from `parpass.api` and `parpass.report` are here only for users;
nothing in this package imports them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.api import (
        Runner,
        end_idle_workers,
        open_runner,
        run_pipeline,
        run_pipeline_sync,
    )
    from parpass.report.notebook_progress import NotebookProgress
    from parpass.report.progress import (
        Progress,
        WorkerActivity,
        watching_progress,
    )
    from parpass.report.report import RunReport
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.cache.layers import CacheLayer
    from parpass.runner.executor import (
        Executor,
        JobCancelledError,
        JobLostError,
        NoWorkersError,
    )
    from parpass.runner.follow.propagation import propagate
    from parpass.runner.worker.frozen import freeze_support
    from parpass.runner.worker.jobs import begin_worker

__all__ = [
    "CacheLayer",
    "Executor",
    "FunctionCache",
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
    "freeze_support",
    "open_runner",
    "propagate",
    "run_pipeline",
    "run_pipeline_sync",
    "watching_progress",
]


_HOMES = {
    "CacheLayer": "runner.cache.layers",
    "Executor": "runner.executor",
    "FunctionCache": "runner.cache.function_cache",
    "JobCancelledError": "runner.executor",
    "JobLostError": "runner.executor",
    "NoWorkersError": "runner.executor",
    "NotebookProgress": "report.notebook_progress",
    "Progress": "report.progress",
    "RunReport": "report.report",
    "WorkerActivity": "report.progress",
    "begin_worker": "runner.worker.jobs",
    "freeze_support": "runner.worker.frozen",
    "propagate": "runner.follow.propagation",
    "watching_progress": "report.progress",
}

__getattr__, __dir__ = attach_lazy(
    __name__,
    {name: f"parpass.{_HOMES.get(name, 'api')}" for name in __all__},
)
