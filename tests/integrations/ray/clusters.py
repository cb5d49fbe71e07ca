"""A Ray cluster on this machine: a head without processors, and hosts with many.

The hosts share no files with the tests: their shared memory and working folders are
their own. Ray is imported by who connects: no other test is to have it in its process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import psutil

from tests.support.other_processes import until, unused_port
from tests.support.own_mounts import unsharing

ROOT = Path(__file__).parents[3]
VARIABLES = {
    # `ray start` asks for a token if the user's home has one, which a program gives
    # only with `token` here: what is in the home is to make no difference.
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}
# Others' files are not there: shared memory is empty.
ALONE = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'


class Cluster:
    """A cluster that runs.

    Attributes:
        url: The URL of two processors of each host.

    Args:
        folder: Where the folders of hosts are made.
        port: Where the head waits for hosts.
        client_port: Where it waits for programs.
    """

    def __init__(self, folder: Path, port: int, client_port: int) -> None:
        self.url = f"ray://127.0.0.1:{client_port}?cpus=2"
        self._folder, self._port = folder, port

    @contextlib.contextmanager
    def host(self, name: str) -> Generator[None]:
        """Have a host run, whose folder has a name."""
        folder = self._folder / name
        folder.mkdir()
        node = [f"--address=127.0.0.1:{self._port}", "--num-cpus=12"]
        alone = [*unsharing(), "/bin/sh", "-c", ALONE, "sh"]
        with _ray(node, folder, alone):
            yield


@contextlib.contextmanager
def cluster_in(folder: Path) -> Generator[Cluster]:
    """Give a cluster with one host, `host`; all of it ends with this."""
    cluster = Cluster(folder, port := unused_port(), client_port := unused_port())
    temporary = tempfile.mkdtemp(prefix="ray")  # paths of sockets are to be short
    head = ["--head", f"--port={port}", f"--ray-client-server-port={client_port}"]
    head += ["--num-cpus=0", "--include-dashboard=false", f"--temp-dir={temporary}"]
    head += ["--node-ip-address=127.0.0.1"]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        stack.enter_context(_ray(head, folder))
        until(lambda: _listens(client_port))
        stack.enter_context(cluster.host("host"))
        yield cluster


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


@contextlib.contextmanager
def _ray(
    arguments: Sequence[str], folder: Path, inside: Sequence[str] = ()
) -> Generator[None]:
    """Have a node run; it and all that it started end with this."""
    script = "from ray.scripts.scripts import main; main()"
    settings: Mapping[str, str] = {
        **VARIABLES,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
    }
    process = subprocess.Popen(
        [*inside, sys.executable, "-c", script, "start", "--block", *arguments],
        cwd=folder,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    rest = threading.Thread(target=process.stdout.read)
    try:
        told: list[bytes] = []
        while b"runtime started" not in (line := process.stdout.readline()):
            told.append(line)
            assert line, b"".join(told)
        rest.start()
        yield
    finally:
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        for each in [process, *started]:
            with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
                each.kill()
        process.wait()
        if rest.is_alive():
            rest.join()
        process.stdout.close()
