"""Keeps what Ray changes in a process that it is loaded into, or connected by."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Generator

_VARIABLE = "PYTHONBREAKPOINT"


@contextlib.contextmanager
def as_guest() -> Generator[None]:
    """Put back, after a block, what is the host program's and not Ray's.

    That is the handler of SIGTERM, `sys.excepthook`, `breakpoint()`, `faulthandler`,
    and the front of `sys.path`, where Ray puts a folder with its own psutil; the folder
    goes to the end. Ray's variables, `RAY_...`, stay.
    """
    handler, hook = signal.getsignal(signal.SIGTERM), sys.excepthook
    breakpoint_hook, path = os.environ.get(_VARIABLE), list(sys.path)
    dumps_faults = faulthandler.is_enabled()
    try:
        yield
    finally:
        sys.excepthook = hook
        sys.path[:] = [*path, *(one for one in sys.path if one not in path)]
        if breakpoint_hook is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = breakpoint_hook
        if faulthandler.is_enabled() and not dumps_faults:
            faulthandler.disable()
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and handler is not None:  # None is one of C code, which is still set
            signal.signal(signal.SIGTERM, handler)
