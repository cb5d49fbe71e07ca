"""The actor that runs jobs on a node of a Ray cluster."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import ray

from parpass.integrations.cluster.cluster_messages import JobReply
from parpass.integrations.cluster.worker_calls import run_on_worker

# Threads of groups of calls. A traceback takes a second, and delays no cancellation.
GROUPS = {"control": 2, "events": 1}
_LISTEN_SECONDS = 10.0  # after which a call that waits for events returns without any


class AgentHost:
    """Runs jobs in children of its process, for one executor.

    Its calls run in threads: jobs in as many as the node has processors for it, those
    of `call` and `next_events` in groups of their own, so that they do not queue behind
    jobs.
    """

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()

    def run(self, packed: bytes) -> JobReply:
        """Run a job; see `run_on_worker`."""
        # Ray ends the process at once, and its children with it.
        return run_on_worker(packed, self._log_event, lambda: False)

    @ray.method(concurrency_group="control")
    def call(self, what: Callable[..., Any], *args: Any) -> Any:
        """Call a function; return its result, or its error."""
        try:
            return what(*args)
        except Exception as error:  # noqa: BLE001 -- returned
            return error

    @ray.method(concurrency_group="events")
    def next_events(self) -> list[tuple[Any, ...]]:
        """Wait for events, and return them; none if there are none for some seconds."""
        try:
            events = [self._events.get(timeout=_LISTEN_SECONDS)]
        except queue.Empty:
            return []
        while not self._events.empty():
            events.append(self._events.get())
        return events

    def _log_event(self, executor: str, what: tuple[Any, ...]) -> None:
        del executor  # there is one for each actor
        self._events.put(what)
