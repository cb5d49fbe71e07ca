"""The supervisor process, which outlives the command and reports its crash.

A process that crashes cannot report it. So the command forks before it imports
anything: the child runs the command, and the parent waits for it. The child publishes
its current pass body in shared memory, a microsecond for each, and `faulthandler`
writes its traceback to a pipe. The fork takes a few milliseconds. To run all passes in
workers instead, as `--isolate` does, takes a third of a second; to run again after a
crash needs the input again, perhaps from a pipe.

Signals to the parent are forwarded to the child, and if the parent is killed the child
is. SIGINT waits for half a second before: sent to the process group, it reached the
child already, and a second one would interrupt what the first one began. That needs
Linux; on other systems only `faulthandler` reports a crash.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import mmap
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn

from parpass.cli.options.written import JOBS, written_value

if TYPE_CHECKING:
    from parpass.transform.capture.bodies import ActiveBody

_LENGTH = struct.Struct("<H")
_NO_BODY = _LENGTH.pack(0)
_MAX_CHARACTERS = (mmap.PAGESIZE - _LENGTH.size) // 4
_PIPE_CAPACITY = 1 << 16  # bytes, which is what a pipe holds
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_INTERRUPT_DELAY = 0.5  # seconds
_FROM_TERMINAL = 0  # codes above it are of signals that the whole group was sent


def can_supervise() -> bool:
    """Return whether this process can fork, and no debugger traces it."""
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and sys.gettrace() is None  # a debugger, or what measures coverage
    )


def fork_supervised(*, shows_all: bool) -> AbstractContextManager[None]:
    """Continue in a child of this process, which ends as the child ends.

    Returns:
        A block for the child to run passes in, so that a crash names its pass.
    """
    trail = mmap.mmap(-1, mmap.PAGESIZE)
    reader, writer = os.pipe()
    for end in (reader, writer):  # neither process may wait for the other
        os.set_blocking(end, False)
    forwarded = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
    forwarded |= {signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*forwarded, signal.SIGCHLD})
    # Where it is ignored, as by `trap '' CHLD` in a shell, its end is not reported.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    own = os.getpid()
    try:
        child = os.fork()
    except OSError:  # there may be no more processes; nobody minds it then
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return contextlib.nullcontext()
    if child:
        status = _wait_for(child, {*forwarded, signal.SIGCHLD})
        _exit_like(status, read_body(trail), _read_pipe(reader), shows_all=shows_all)
    _kill_with_parent(own)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    faulthandler.enable(writer)
    return _publishing_bodies(trail)


@contextlib.contextmanager
def _publishing_bodies(trail: mmap.mmap) -> Generator[None]:
    # Loaded here, because the parent does not need it.
    from parpass.transform.capture.bodies import observing_bodies

    with observing_bodies(lambda place: write_body(trail, place)):
        try:
            yield
        finally:
            # An interrupt as a body begins leaves it published, but it is no crash.
            write_body(trail, None)


def _kill_with_parent(parent: int) -> None:
    """Let this process be killed when its parent ends."""
    import ctypes  # the parent loads little

    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was, before
        os.kill(os.getpid(), signal.SIGKILL)


def write_body(trail: mmap.mmap, place: ActiveBody | None) -> None:
    """Publish the body that this process is in; None for none."""
    if place is None:
        trail[: _LENGTH.size] = _NO_BODY
        return
    text = f"{place[0]}\0{place[1] or ''}"[:_MAX_CHARACTERS]
    content = text.encode(errors="surrogatepass")  # a name of a file may be no text
    trail[: _LENGTH.size + len(content)] = _LENGTH.pack(len(content)) + content


def read_body(trail: mmap.mmap) -> ActiveBody | None:
    """Return the last body that the child published."""
    (length,) = _LENGTH.unpack(trail[: _LENGTH.size])
    content = trail[_LENGTH.size : _LENGTH.size + length]
    try:
        text = content.decode(errors="surrogatepass")
    except UnicodeDecodeError:  # it was killed as it wrote
        text = content.decode(errors="replace")
    pass_name, _, function = text.partition("\0")
    return (pass_name, function or None) if pass_name else None


def _read_pipe(reader: int) -> str:
    try:
        return os.read(reader, _PIPE_CAPACITY).decode(errors="replace")
    except BlockingIOError:  # nothing was written
        return ""


def _wait_for(child: int, signals: set[signal.Signals]) -> int:
    """Wait for a child, forward signals to it, and return its exit code."""
    interrupt_at = math.inf
    while True:
        if interrupt_at == math.inf:
            info = signal.sigwaitinfo(signals)
        else:
            left = max(0.0, interrupt_at - time.monotonic())
            info = signal.sigtimedwait(signals, left)
        if info is None:
            interrupt_at = math.inf
            os.kill(child, signal.SIGINT)
        elif info.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif info.si_code <= _FROM_TERMINAL:
            if info.si_signo != signal.SIGINT:
                os.kill(child, info.si_signo)
            elif interrupt_at == math.inf:
                interrupt_at = time.monotonic() + _INTERRUPT_DELAY


def _exit_like(
    code: int, place: ActiveBody | None, stacks: str, *, shows_all: bool
) -> NoReturn:
    """End this process as its child ended; report a crash with its body."""
    is_reported = code >= 0 or -code in _CRASH_SIGNALS
    if place is None and code >= 0:
        os._exit(code)
    import click  # which loads when something is to be said

    if place is not None and is_reported:
        if shows_all:
            click.echo(stacks, err=True)
        click.echo(f"Error: {crash_message(place, code, stacks)}", err=True)
        os._exit(1)
    click.echo(stacks, err=True, nl=False)
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


def crash_message(place: ActiveBody, code: int, stacks: str) -> str:
    """Return the message for a process that died in a body.

    `code` is the exit code, or the negated number of a signal; `stacks` is the output
    of `faulthandler`.
    """
    from parpass.cli.output.failure import innermost_frame  # as rare as crashes
    from parpass.runner.executor import exit_cause  # likewise

    pass_name, function = place
    where = "the module" if function is None else f"function '{function}'"
    lines = [f"pass '{pass_name}' on {where} killed the process: {exit_cause(code)}"]
    if frame := innermost_frame(stacks):
        lines.append(f"where: {frame}; --traceback shows all")
    has_no_workers = written_value(sys.argv[1:], JOBS) == "0"
    without = ", without -j0," if has_no_workers else ""
    if function is not None and sys.argv[1:2] == ["codemod"]:
        lines.append(f"use --isolate{without} to continue with the other files")
    elif function is not None:
        lines.append(
            f"run parpass opt{without} with --reproducer PATH to get a reproducer, or "
            "with --on-failure=skip to leave the function as it was"
        )
    return "\n  ".join(lines)
