"""The same pipeline in parallel: function passes over a pool of processes.

Names load when they are first used: the workers import this package too, and must stay
light (no trio, no loky).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.runner.executor import (
        Executor,
        JobEndedError,
        JobLostError,
        NoWorkersError,
    )
    from parpass.runner.report.report import RunReport
    from parpass.runner.run import (
        Runner,
        open_runner,
        run_pipeline,
        run_pipeline_sync,
    )
    from parpass.runner.stage.progress import Progress, watching_progress
    from parpass.runner.travel.propagation import propagate
    from parpass.runner.worker.jobs import begin_worker

__all__ = [
    "Executor",
    "JobEndedError",
    "JobLostError",
    "NoWorkersError",
    "Progress",
    "RunReport",
    "Runner",
    "begin_worker",
    "open_runner",
    "propagate",
    "run_pipeline",
    "run_pipeline_sync",
    "watching_progress",
]


_HOMES = {
    "Executor": "executor",
    "JobEndedError": "executor",
    "JobLostError": "executor",
    "NoWorkersError": "executor",
    "Progress": "stage.progress",
    "RunReport": "report.report",
    "begin_worker": "worker.jobs",
    "propagate": "travel.propagation",
    "watching_progress": "stage.progress",
}

__getattr__, __dir__ = lazy_names(
    __name__,
    {name: f"parpass.runner.{_HOMES.get(name, 'run')}" for name in __all__},
)
