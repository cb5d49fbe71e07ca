"""Peers that share work out to processes: joblib, multiprocessing, futures, and so on.

Each is handed functions one by one, as the objects that they are, to be pickled; their
processes are warm when the clock starts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

import trio

from bench.measure import import_distributed

# Library and names in it are looked up when measured: none of them has to be there.
_import = importlib.import_module

Work = Callable[[Any], Any]


class Pool(Protocol):
    """A peer with its processes running."""

    def map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        """Do work on each item in the processes; return the results in order."""
        ...

    def close(self) -> None:
        """End the processes."""
        ...


class _Joblib:
    def __init__(self, workers: int) -> None:
        self._joblib: Any = _import("joblib")
        self._parallel = self._joblib.Parallel(n_jobs=workers)
        self._parallel.__enter__()

    def map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        later = self._joblib.delayed(work)
        return list(self._parallel(later(item) for item in items))

    def close(self) -> None:
        self._parallel.__exit__(None, None, None)
        executor: Any = _import("joblib.externals.loky")
        executor.get_reusable_executor().shutdown()


class _MultiprocessingPool:
    def __init__(self, workers: int, chunk: int | None = 1) -> None:
        self._pool, self._chunk = get_context("spawn").Pool(workers), chunk

    def map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        return self._pool.map(work, items, chunksize=self._chunk)

    def close(self) -> None:
        self._pool.close()
        self._pool.join()


class _Futures:
    def __init__(self, workers: int) -> None:
        self._pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))

    def map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        return list(self._pool.map(work, items))

    def close(self) -> None:
        self._pool.shutdown()


class _TrioParallel:
    """Beside an event loop in a thread: its processes live as long as that."""

    def __init__(self, workers: int) -> None:
        library: Any = _import("trio_parallel")
        self._limiter = trio.CapacityLimiter(workers)
        self._closing = trio.Event()
        opened: SimpleQueue[tuple[trio.lowlevel.TrioToken, Any]] = SimpleQueue()

        async def main() -> None:
            async with library.open_worker_context() as context:
                opened.put((trio.lowlevel.current_trio_token(), context))
                await self._closing.wait()

        self._thread = Thread(target=trio.run, args=(main,), daemon=True)
        self._thread.start()
        self._token, self._context = opened.get()

    def map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        return trio.from_thread.run(self._map, work, items, trio_token=self._token)

    async def _map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        results: list[Any] = [None] * len(items)

        async def one(at: int) -> None:
            run = self._context.run_sync
            results[at] = await run(work, items[at], limiter=self._limiter)

        async with trio.open_nursery() as nursery:
            for at in range(len(items)):
                nursery.start_soon(one, at)
        return results

    def close(self) -> None:
        trio.from_thread.run_sync(self._closing.set, trio_token=self._token)
        self._thread.join()


class _Dask:
    def __init__(self, workers: int) -> None:
        distributed: Any = import_distributed()
        self._client = distributed.Client(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
        )

    def map(self, work: Work, items: Sequence[Any]) -> list[Any]:
        return self._client.gather(self._client.map(work, items, pure=False))

    def close(self) -> None:
        self._client.close()
        self._client.cluster.close()


@dataclass(frozen=True)
class Peer:
    """A peer that may be installed.

    Attributes:
        name: What it is called in the table.
        make: Starts it, with so many processes.
        is_slow: Whether one run is enough to place it.
    """

    name: str
    make: Callable[[int], Pool]
    is_slow: bool = False

    def open(self, workers: int) -> Pool | str:
        """Return it with its processes, or why there is none."""
        try:
            return self.make(workers)
        except ModuleNotFoundError:
            return "not installed"
        except Exception as error:  # noqa: BLE001 -- the other peers are still wanted
            return f"does not run here: {error}"


JOBLIB, DASK = Peer("joblib", _Joblib), Peer("Dask", _Dask, is_slow=True)
POOL = Peer("multiprocessing.Pool", lambda workers: _MultiprocessingPool(workers, None))
PEERS = (
    JOBLIB,
    Peer("multiprocessing.Pool, chunksize 1", _MultiprocessingPool),
    Peer("concurrent.futures", _Futures),
    Peer("trio-parallel", _TrioParallel),
    DASK,
)
