"""The executor's connection to a Ray cluster: an actor on each node, and its calls."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from parpass.errors import RuntimeUseError
from parpass.integrations.cluster.connection import OnJoin, OnLeave, why_unfit
from parpass.integrations.cluster.worker_agent import SILENT_SECONDS
from parpass.integrations.cluster.worker_calls import (
    close_on_worker,
    heartbeat_on_worker,
    versions_on_worker,
)
from parpass.integrations.ray.agent_host import GROUPS, AgentHost
from parpass.spi import DEFAULT_START_SECONDS

_logger = logging.getLogger(__name__)
_NOT_USED = "%s; it is not used"
_LOOK_SECONDS = 2.0  # between two looks which nodes there are
_OTHERS_SECONDS = 5.0  # how much later than the first one others may be ready
_CLOSE_SECONDS = 5.0  # for actors to release what they have
_CALL_SECONDS = 60.0  # for an actor to answer; one that does not is lost


class Host:
    """An actor that runs jobs on a node.

    Attributes:
        address: Names it in messages, and among all that there have been.
        node: The id of its node.
        threads: How many jobs it runs at once.
        actor: Ray's handle.
        has_joined: Whether it runs jobs.
    """

    def __init__(self, node: dict[str, Any], threads: int) -> None:
        self.node: str = node["NodeID"]
        self.address = f"{node['NodeManagerHostname']}/{uuid.uuid4().hex[:8]}"
        self.threads = threads
        self.has_joined = False
        as_actor: Any = ray.remote(concurrency_groups=GROUPS)
        self.actor: Any = (
            as_actor(AgentHost)
            .options(
                num_cpus=threads,
                max_concurrency=threads,
                scheduling_strategy=NodeAffinitySchedulingStrategy(
                    self.node, soft=False
                ),
            )
            .remote()
        )

    def call(self, what: Callable[..., Any], *args: Any) -> Future[Any]:
        """Call a function there; return the future of its result, or of its error."""
        called: Future[Any] = self.actor.call.remote(what, *args).future()
        return called

    def kill(self) -> None:
        """End the process, and with it what it runs."""
        with contextlib.suppress(Exception):  # it, or the cluster, may be gone
            ray.kill(self.actor)


class RayConnection:
    """Calls actors on the nodes of the cluster of this process; see `Connection`.

    Ray's callbacks, which may not block, are passed on to a thread.

    Args:
        cpus: How many processors are taken on each node; all if None.
        on_event: Called with an actor's event, in a thread.

    Raises:
        RuntimeUseError: This process is not connected to a cluster.
    """

    cluster = "Ray cluster"
    least_job_seconds = 0.02

    def __init__(self, cpus: int | None, on_event: Callable[..., None]) -> None:
        self.name = f"parpass-{uuid.uuid4().hex}"
        self._cpus, self._on_event = cpus, on_event
        self._lost = ""  # why the cluster is not there any more
        self._is_closed = threading.Event()
        self._look = threading.Event()
        self._lock = threading.RLock()
        self._hosts: dict[str, Host] = {}  # by address
        self._refused: dict[str, str] = {}  # why, by node
        self._misfit = ""  # what other versions a node has
        self._callbacks = ThreadPoolExecutor(1, "parpass-ray")
        self._watch = threading.Thread(target=self._follow_nodes, daemon=True)
        self.check()

    def open(self, on_join: OnJoin, on_leave: OnLeave) -> None:
        """Start an actor on each node; return when the first ones are ready.

        Raises:
            RuntimeUseError: There are no nodes, none has processors to spare, or they
                have other versions.
        """
        self._on_join, self._on_leave = on_join, on_leave
        ready = self._start_hosts()
        if not ready:
            raise RuntimeUseError("the Ray cluster has no nodes with processors")
        wait(ready, DEFAULT_START_SECONDS, "FIRST_COMPLETED")
        wait(ready, _OTHERS_SECONDS)
        self._callbacks.submit(lambda: None).result()  # all that are ready have joined
        if self._misfit:
            raise RuntimeUseError(self._misfit)
        if not any(host.has_joined for host in self._hosts.values()):
            raise RuntimeUseError(
                next(iter(self._refused.values()), "")
                or f"the Ray cluster had no free processors for "
                f"{DEFAULT_START_SECONDS:g} s; give fewer than a node has, as in "
                "ray://HOST:PORT?cpus=2"
            )
        for why in self._refused.values():  # a node that has just died, say
            _logger.warning(_NOT_USED, why)
        self._watch.start()

    def check(self) -> None:
        """Check that this process is connected, and that the cluster has answered.

        Raises:
            RuntimeUseError: It is not, or it has not.
        """
        if self._lost:
            raise RuntimeUseError(f"the Ray cluster is lost: {self._lost}")
        if not ray.is_initialized():
            raise RuntimeUseError(
                "expected a process that is connected to a Ray cluster; call ray.init, "
                "or give its URL, such as executor='ray://HOST:10001'"
            )

    def submit(self, packed: bytes, address: str, key: str) -> Any:
        """Submit a job to an actor; return the future of the reply.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        del key
        self.check()
        answer = Future[Any]()
        host = self._hosts.get(address)
        if host is None:  # it has died, and who waits for the job has been told
            return answer
        called: Future[Any] = host.actor.run.remote(packed).future()
        self._pass_on(called, self._complete, host, answer)
        return answer

    def is_death(self, error: Exception) -> bool:
        """Return whether an actor died."""
        return isinstance(error, RayActorError)

    def call(self, what: Callable[..., Any], *args: Any, at: str) -> Any:
        """Call a function on one actor at once; return its result, or its error.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        host = self._hosts.get(at)
        return None if host is None else _result(host.call(what, *args))

    def call_all(self, what: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a function on all actors at once; return the results by address.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        with self._lock:
            hosts = [host for host in self._hosts.values() if host.has_joined]
        called = {host.address: host.call(what, *args) for host in hosts}
        return {address: _result(future) for address, future in called.items()}

    def close(self) -> None:
        """End all actors, after they have released what they have."""
        self._is_closed.set()
        self._look.set()
        if self._watch.is_alive():
            self._watch.join()
        with self._lock:
            hosts, self._hosts = list(self._hosts.values()), {}
        with contextlib.suppress(Exception):  # the cluster may be gone
            joined = [host for host in hosts if host.has_joined]
            wait(
                [host.call(close_on_worker, self.name) for host in joined],
                _CLOSE_SECONDS,
            )
        for host in hosts:
            host.kill()
        self._callbacks.shutdown()

    def _start_hosts(self) -> list[Future[Any]]:
        """Start an actor on each node without one; return futures of their versions."""
        nodes: list[dict[str, Any]] = ray.nodes()
        started: list[Future[Any]] = []
        with self._lock:
            served = {host.node for host in self._hosts.values()} | set(self._refused)
            for node in nodes:
                threads = int(node["Resources"].get("CPU", 0))
                if not node["Alive"] or node["NodeID"] in served or not threads:
                    continue
                host = Host(node, min(threads, self._cpus or threads))
                self._hosts[host.address] = host
                versions = host.call(versions_on_worker)
                self._pass_on(versions, self._admit, host)
                started.append(versions)
        return started

    def _admit(self, versions: Future[Any], host: Host) -> None:
        """Let an actor run jobs, if its versions are those of this process."""
        try:
            why = why_unfit(self.cluster, host.address, versions.result())
            self._misfit = self._misfit or why or ""
        except RayError as error:
            why = (
                f"no actor of parpass's starts on {host.address} of the Ray cluster: "
                f"{_cause(error)}; parpass is to be installed there, and "
                "RAY_AUTH_MODE to be what it is here"
            )
        if why is None:
            host.has_joined = True
            self._on_join(host.address, host.threads)
            self._listen(host)
            return
        with self._lock:
            self._hosts.pop(host.address, None)
            self._refused[host.node] = why
        host.kill()
        if self._watch.is_alive():
            _logger.warning(_NOT_USED, why)

    def _listen(self, host: Host) -> None:
        with contextlib.suppress(Exception):  # the cluster is gone: `check` says so
            self._pass_on(host.actor.next_events.remote().future(), self._receive, host)

    def _receive(self, events: Future[Any], host: Host) -> None:
        try:
            for event in events.result():
                self._on_event(host.address, *event)
        except RayError:
            self._leave(host)
        else:
            self._listen(host)

    def _complete(self, called: Future[Any], host: Host, answer: Future[Any]) -> None:
        with contextlib.suppress(InvalidStateError):  # it has been cancelled
            try:
                answer.set_result(called.result())
            except Exception as error:  # noqa: BLE001 -- becomes the job's result
                if self.is_death(error):
                    self._leave(host)  # which knows what jobs were behind others
                answer.set_exception(error)

    def _leave(self, host: Host) -> None:
        """Treat an actor as dead; its node, if it is alive, gets a new one."""
        with self._lock:
            found = self._hosts.pop(host.address, None)
        if found is not None:
            host.kill()
            self._on_leave(host.address)
            self._look.set()

    def _pass_on(
        self, done: Future[Any], what: Callable[..., None], *args: Any
    ) -> None:
        """Call a function with a future, in the thread for that, when it is done."""

        def pass_on(done: Future[Any]) -> None:
            with contextlib.suppress(RuntimeError):  # this is closed
                self._callbacks.submit(what, done, *args)

        done.add_done_callback(pass_on)

    def _follow_nodes(self) -> None:
        """Start actors on new nodes, and where one has died; send heartbeats."""
        looks = 0
        while True:
            self._look.wait(_LOOK_SECONDS)
            self._look.clear()
            if self._is_closed.is_set():
                return
            try:
                self._start_hosts()
                looks += 1
                if looks * _LOOK_SECONDS > SILENT_SECONDS / 4:
                    looks = 0
                    self.call_all(heartbeat_on_worker, self.name)
            except Exception as error:  # noqa: BLE001 -- of Ray, in many forms
                self._lost = str(error) or type(error).__name__
                for host in list(self._hosts.values()):
                    self._leave(host)
                return


def _result(called: Future[Any]) -> Any:
    try:
        return called.result(_CALL_SECONDS)
    except (RayError, TimeoutError) as error:
        return error


def _cause(error: Exception) -> str:
    """Return the line of an error of Ray's that says what caused it.

    It is the last line, but for one that adds that an actor never ran.
    """
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("The actor never")]
    return told[-1] if told else type(error).__name__
