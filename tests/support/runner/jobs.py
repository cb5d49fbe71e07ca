"""Jobs for executors; workers import this, so it imports nothing that takes long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def echo(job: bytes) -> bytes:
    """Give the job back."""
    return job


def pid(_job: bytes) -> bytes:
    """Return this process's number."""
    return str(os.getpid()).encode()


def environment(job: bytes) -> bytes:
    """Return a variable of the environment."""
    return os.environ.get(job.decode(), "").encode()


def imported(_job: bytes) -> bytes:
    """Return which of some modules are loaded."""
    return b",".join(name.encode() for name in ("trio", "onnx") if name in sys.modules)


def end(_job: bytes) -> bytes:
    """End this process."""
    os._exit(7)


def wait(_job: bytes) -> bytes:
    """Wait for a signal."""
    signal.pause()
    return b""


def wait_for(path: bytes) -> bytes:
    """Wait until somebody writes to a named pipe."""
    return Path(path.decode()).read_bytes()


def tell_and_wait(path: bytes) -> bytes:
    """Write this process's number to a named pipe, and do no more."""
    Path(path.decode()).write_bytes(b"%d" % os.getpid())
    return wait(b"")


def end_late(job: bytes) -> bytes:
    """Take a while."""
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        pass
    return job


def end_soon(_job: bytes) -> bytes:
    """Take a moment, and end this process."""
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
    os._exit(7)


def fork_and_end(_job: bytes) -> bytes:
    """Leave a child behind, and end."""
    if os.fork() == 0:
        signal.alarm(5)
        signal.pause()
    os._exit(9)


def start_sleeper(job: bytes) -> bytes:
    """Start a process that holds a pipe open."""
    with open(job, "wb") as held_open:
        subprocess.Popen(["sleep", "600"], stdout=held_open)
    return b"begun"


def start_sleepers(pipe: bytes) -> bytes:
    """Start processes that hold a pipe open, until this one is killed."""
    started: list[subprocess.Popen[bytes]] = []
    with open(os.fsdecode(pipe), "wb", buffering=0) as held_open:
        held_open.write(b"x")
        while True:
            started.append(subprocess.Popen(["sleep", "600"], stdout=held_open))


def fail(_job: bytes) -> bytes:
    """Raise an error."""
    raise KeyError("mine")


def has_begun_without_interrupts(_job: bytes) -> bytes:
    """Return whether SIGINT was blocked when the worker loaded `preloaded`."""
    loaded = sys.modules["tests.support.runner.preloaded"]
    return str(signal.SIGINT in loaded.BLOCKED).encode()
