"""A Ray cluster on this machine: a head without processors, and a host with many.

The host shares no files with the tests: its shared memory and its working folder are
its own. Ray is imported by who connects: no other test is to have it in its process.
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

from tests.integrations.dask.clusters import until
from tests.support.own_mounts import unsharing

ROOT = Path(__file__).parents[3]
VARIABLES = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
# Others' files are not there: shared memory is empty.
ALONE = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'


def unused_port() -> int:
    """Return a port of this machine at which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextlib.contextmanager
def cluster_in(folder: Path) -> Generator[str]:
    """Give the URL of two processors of a cluster; all of it ends with this."""
    port, client_port = unused_port(), unused_port()
    temporary = tempfile.mkdtemp(prefix="ray")  # paths of sockets are to be short
    host = folder / "host"
    host.mkdir()
    settings = {**VARIABLES, "PYTHONPATH": str(ROOT), "TMPDIR": str(host)}
    head = ["--head", f"--port={port}", f"--ray-client-server-port={client_port}"]
    head += ["--num-cpus=0", "--include-dashboard=false", f"--temp-dir={temporary}"]
    head += ["--node-ip-address=127.0.0.1"]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        stack.enter_context(_ray(head, folder, settings))
        until(lambda: _listens(client_port))
        node = [f"--address=127.0.0.1:{port}", "--num-cpus=12"]
        alone = [*unsharing(), "/bin/sh", "-c", ALONE, "sh"]
        stack.enter_context(_ray(node, host, settings, alone))
        yield f"ray://127.0.0.1:{client_port}?cpus=2"


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


@contextlib.contextmanager
def _ray(
    arguments: Sequence[str],
    folder: Path,
    settings: Mapping[str, str],
    inside: Sequence[str] = (),
) -> Generator[None]:
    """Have a node run; it and all that it started end with this."""
    script = "from ray.scripts.scripts import main; main()"
    command = [*inside, sys.executable, "-c", script, "start", "--block", *arguments]
    process = subprocess.Popen(
        command,
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
