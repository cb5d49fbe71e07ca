"""Row `dask`: workers of a Dask cluster, held against as many on this machine.

The cluster is on this machine, too, so its scheduler, its workers, and the processes in
which these run jobs, share the cores with the work. Dask is as it comes: that it looks
at itself less often, as `docs/with-dask.md` advises, is for its own variables to say.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work, heavier_pass
from parpass import PassContext, Sequential, open_runner

_WORKERS = (2, 4)
_OF_LOKY = "parallel run on a Dask cluster : with as many workers of loky's"


def _dask(setting: Setting) -> Iterator[Line]:
    for workers in _WORKERS:
        work = Work(setting.scaled(5000, 8 * workers), 30, heavier_pass)
        what = f"one pass of 20 ms on {work.functions:,} functions, {workers} workers"
        try:
            times = _measured(work, workers, setting.fewer)
        except ModuleNotFoundError:
            yield Line(what, _OF_LOKY, None, note="not installed")
        else:
            figure = ratio(times, "dask", "loky")
            yield Line(what, _OF_LOKY, figure, Goal(1.15), times=times)


def _measured(work: Work, workers: int, rounds: int) -> dict[str, list[float]]:
    distributed: Any = import_module("distributed")  # in nobody's process but this
    executor_of: Any = import_module("parpass.integrations.dask").DaskExecutor
    mod, passes = work.module(), Sequential(work.passes())
    few = work.share(0, max(1, work.functions // (8 * workers)))
    context = PassContext(config=USE_WORKERS)
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
        executor_of(client) as executor,
        open_runner(executor=executor) as there,
        open_runner(workers=workers) as here,
    ):
        runners = {"dask": there, "loky": here}
        for runner in runners.values():  # starts processes, and loads all
            runner.run_sync(few, passes, context=context)
        sides = {
            name: clocked(
                lambda runner=runner: runner.run_sync(mod, passes, context=context)
            )
            for name, runner in runners.items()
        }
        times = interleaved(sides, rounds)
        client.run(logging.disable)  # a heartbeat that meets the cluster's end says so
        return times


ROWS = (Row("dask", _dask),)
