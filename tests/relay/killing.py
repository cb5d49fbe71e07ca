"""Processes that are killed at a write of theirs, whichever it is."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable

# The numbers of write, pwrite64, ftruncate, unlink, unlinkat and rename.
_WRITES = {
    "x86_64": {1, 18, 77, 87, 263, 82},
    "aarch64": {64, 68, 46, 35},
}
_TRACEME, _SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
_OPTIONS = 0x1 | 0x100000  # system calls are told from signals; ends with its tracer
_ENTRY = 1
_NUMBER_AT = 24  # in `struct ptrace_syscall_info`


def can_kill_at_writes() -> bool:
    """Return whether this system has what `killed_at_write` takes."""
    return sys.platform == "linux" and platform.machine() in _WRITES


def killed_at_write(run: Callable[[], object], number: int) -> bool:
    """Run something in a fork of this process, and kill that before one of its writes.

    Args:
        run: What is run.
        number: The number of the write, from 0.

    Returns:
        Whether it was killed; else it came to its end, with fewer writes.

    Raises:
        OSError: Processes may not be traced here.
        AssertionError: It ended otherwise.
    """
    writes = _WRITES[platform.machine()]
    child = os.fork()
    if not child:
        _run_traced(run)
    os.waitpid(child, 0)
    _ptrace(_SETOPTIONS, child, _OPTIONS)
    info = ctypes.create_string_buffer(128)
    signalled = 0
    while True:
        _ptrace(_SYSCALL, child, signalled)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            assert status == 0, status
            return False
        stopped_by, signalled = os.WSTOPSIG(status), 0
        if stopped_by != signal.SIGTRAP | 0x80:
            signalled = stopped_by
            continue
        _ptrace(_GET_SYSCALL_INFO, child, ctypes.addressof(info), len(info))
        (call,) = struct.unpack_from("<Q", info.raw, _NUMBER_AT)
        if info.raw[0] == _ENTRY and call in writes:
            if not number:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return True
            number -= 1


def _run_traced(run: Callable[[], object]) -> None:
    code = 1
    try:
        _ptrace(_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        run()
        code = 0
    finally:
        os._exit(code)


def _ptrace(request: int, process: int, data: int = 0, address: int = 0) -> None:
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.restype = ctypes.c_long
    kinds = ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p
    ptrace.argtypes = kinds
    if ptrace(request, process, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
