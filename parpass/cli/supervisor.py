"""The supervisor process, which outlives the command and reports its crash.

A process that crashes cannot report it. So the command forks before it imports
anything: the child runs the command, and the parent waits for it. The child publishes
its current pass body in shared memory, a microsecond for each, and `faulthandler`
writes its traceback to a pipe. The fork takes a few milliseconds. To run all passes in
workers instead, as `--isolate` does, takes a third of a second; to run again after a
crash needs the input again, perhaps from a pipe.

Signals to the parent are forwarded to the child, and if the parent is killed the child
is. That needs Linux; on other systems only `faulthandler` reports a crash.
"""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import os
import signal
import struct
import sys
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from parpass.transform.capture.bodies import ActiveBody

_LENGTH = struct.Struct("<H")
_NO_BODY = _LENGTH.pack(0)
_MAX_CONTENT = mmap.PAGESIZE - _LENGTH.size
_PIPE_CAPACITY = 1 << 16  # bytes, which is what a pipe holds
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_FROM_TERMINAL = 0  # codes above it are of signals that the whole group was sent


def can_supervise() -> bool:
    """Return whether this process can fork, and no other process supervises it."""
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and sys.gettrace() is None  # a debugger, or what measures coverage
    )


def fork_supervised(*, shows_all: bool) -> AbstractContextManager[None]:
    """Go on in a child of this process, which ends as that ends.

    Args:
        shows_all: Whether to show all of where a crash happened.

    Returns:
        What the child is to run passes in: so it is known which one it crashed in.
    """
    trail = mmap.mmap(-1, mmap.PAGESIZE)
    heard, told = os.pipe()
    for end in (heard, told):  # nobody is to wait here, for a reader nor for an end
        os.set_blocking(end, False)
    passed_on = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
    passed_on |= {signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*passed_on, signal.SIGCHLD})
    # Where it is ignored, as by `trap '' CHLD` in a shell, nobody is told of an end.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    own = os.getpid()
    try:
        child = os.fork()
    except OSError:  # there may be no more processes; nobody minds it then
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return contextlib.nullcontext()
    if child:
        status = _wait_for(child, {*passed_on, signal.SIGCHLD})
        _exit_like(status, _read(trail), _read_pipe(heard), shows_all=shows_all)
    _kill_with_parent(own)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    faulthandler.enable(told)
    return _publishing_bodies(trail)


@contextlib.contextmanager
def _publishing_bodies(trail: mmap.mmap) -> Generator[None]:
    from parpass.transform.capture.bodies import (
        observing_bodies,  # the parent loads little
    )

    with observing_bodies(lambda place: _write(trail, place)):
        try:
            yield
        finally:
            # An interrupt as a body begins leaves it published, but it is no crash.
            _write(trail, None)


def _kill_with_parent(parent: int) -> None:
    """Set that this process is killed when its parent ends."""
    import ctypes  # the parent loads little

    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was, before
        os.kill(os.getpid(), signal.SIGKILL)


def _write(trail: mmap.mmap, place: ActiveBody | None) -> None:
    if place is None:
        trail[: _LENGTH.size] = _NO_BODY
        return
    content = f"{place[0]}\0{place[1] or ''}".encode()[:_MAX_CONTENT]
    trail[: _LENGTH.size + len(content)] = _LENGTH.pack(len(content)) + content


def _read(trail: mmap.mmap) -> ActiveBody | None:
    (length,) = _LENGTH.unpack(trail[: _LENGTH.size])
    content = trail[_LENGTH.size : _LENGTH.size + length]
    pass_name, _, function = content.decode(errors="replace").partition("\0")
    return (pass_name, function or None) if pass_name else None


def _read_pipe(heard: int) -> str:
    try:
        return os.read(heard, _PIPE_CAPACITY).decode(errors="replace")
    except BlockingIOError:  # nothing was told
        return ""


def _wait_for(child: int, signals: set[signal.Signals]) -> int:
    """Return how a child ended; pass on what this process is sent meanwhile."""
    while True:
        info = signal.sigwaitinfo(signals)
        if info.si_signo != signal.SIGCHLD:
            if info.si_code <= _FROM_TERMINAL:
                os.kill(child, info.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)


def _exit_like(
    code: int, place: ActiveBody | None, told: str, *, shows_all: bool
) -> NoReturn:
    """End this process as its child ended; say in which body, if it died in one."""
    is_told = code >= 0 or -code in _CRASH_SIGNALS
    if place is None and code >= 0:
        os._exit(code)
    import click  # which loads when something is to be said

    if place is not None and is_told:
        if shows_all:
            click.echo(told, err=True)
        click.echo(f"Error: {crash_message(place, code, told)}", err=True)
        os._exit(1)
    click.echo(told, err=True, nl=False)
    with contextlib.suppress(OSError):  # SIGKILL does what it does
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


# Those that come of what a process does; SIGKILL is mostly for its memory.
_CRASH_SIGNALS = {
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGSYS,
}


def crash_message(place: ActiveBody, code: int, told: str) -> str:
    """Return the message for a process that died in a body.

    Args:
        place: The body.
        code: The exit code, or the number of a signal below 0.
        told: What `faulthandler` said.
    """
    from parpass.cli.output.failure import innermost_frame  # as rare as crashes

    pass_name, function = place
    where = "the module" if function is None else f"function '{function}'"
    cause = f"EXIT({code})" if code >= 0 else f"{signal.Signals(-code).name}({code})"
    lines = [f"pass '{pass_name}' on {where} ended the process: {cause}"]
    if frame := innermost_frame(told):
        lines.append(f"where: {frame}; --traceback shows all")
    if function is not None and sys.argv[1:2] == ["codemod"]:
        lines.append("give --isolate, without -j0, to go on with the other files")
    elif function is not None:
        lines.append(
            "try parpass opt, without -j0, with --reproducer PATH to have it written "
            "down, or with --on-failure=skip to go on without this pass on it"
        )
    return "\n  ".join(lines)
