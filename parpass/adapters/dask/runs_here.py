"""The runs of an executor, where they were started."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from parpass.adapters.dask.connection import Connection
from parpass.adapters.dask.jobs_away import ValueAway
from parpass.adapters.dask.on_dask_worker import bring_there, forget_there, put_there
from parpass.adapters.dask.run_here import RunHere
from parpass.runner.travel.folder import Ref


class RunsHere:
    """The runs of an executor; brings workers what they ask for of them.

    Args:
        cluster: The connection.
    """

    def __init__(self, cluster: Connection) -> None:
        self._cluster, self._name = cluster, cluster.name
        self._runs: dict[str, RunHere] = {}
        # One that waits for functions to be packed must not keep jobs from being sent.
        self._thread = ThreadPoolExecutor(1, "parpass-dask-bringing")

    def of(self, path: str) -> RunHere:
        """Return a run by its folder; those that have ended are forgotten there."""
        if path not in self._runs:
            for ended in [one for one in self._runs.values() if one.has_ended]:
                del self._runs[ended.path]
                ended.close()
                self._cluster.ask_all(forget_there, self._name, ended.path)
            self._runs[path] = RunHere(path)
        return self._runs[path]

    def bring(self, what: str, place: str, path: str, *wanted: Any) -> None:
        """Have a worker be brought what it asked for; not yet when this returns.

        Args:
            what: `value`, which is told by a reference, or `others`, all functions of
                a stage, which is told by its number.
            place: The worker.
            path: The run.
            wanted: The rest of what it said.
        """
        run = self._runs.get(path)
        with contextlib.suppress(RuntimeError):  # it is closed
            if run is not None and what == "value":
                self._thread.submit(self._bring_value, run, place, *wanted)
            elif run is not None:
                self._thread.submit(self._bring_others, run, place, *wanted)

    def close(self) -> None:
        """Close what is open."""
        self._thread.shutdown()
        for run in self._runs.values():
            run.close()

    def _bring_others(self, run: RunHere, place: str, number: int) -> None:
        with contextlib.suppress(Exception):  # it is over
            others = run.others(number)
            self._cluster.call(
                put_there, self._name, run.path, number, others, at=place
            )

    def _bring_value(self, run: RunHere, place: str, wanted: Sequence[Any]) -> None:
        ref = Ref(*wanted)
        bring = functools.partial(
            self._cluster.call, bring_there, self._name, run.path, at=place
        )
        with contextlib.suppress(Exception):  # the worker is no more
            try:
                value = run.value(ref)
                if bring(value, None) is False:
                    bring(value, run.content(ref))
            except OSError:
                bring(ValueAway(ref, ""), None)
