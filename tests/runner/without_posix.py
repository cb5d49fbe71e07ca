"""A system that has no more of POSIX than Windows has.

`hide()` is for a process of its own: what it takes away is gone for good.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# Libraries have their own ways on each system, so they are loaded as they are here.
LIBRARIES = (
    *("asyncio", "click", "cloudpickle", "lark", "logging.handlers", "loky"),
    *("ml_dtypes", "msgspec", "multiprocessing.spawn", "numpy", "onnx"),
    *("onnx.reference", "psutil", "rich.console", "sniffio", "subprocess"),
    *("tempfile", "threadpoolctl", "trio", "loky.backend.popen_loky_posix"),
)
MODULES = (
    *("fcntl", "grp", "posix", "pwd", "pty", "resource", "syslog", "termios", "tty"),
)
OF_OS = (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod"),
    *("fchown", "fork", "forkpty", "fstatvfs", "getegid", "geteuid", "getgid"),
    *("getloadavg", "getpgid", "getpgrp", "getuid", "killpg", "mkfifo", "openpty"),
    *("posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite"),
    *("register_at_fork", "sched_setaffinity", "setsid"),
    *("statvfs", "sysconf", "uname", "wait"),
)
OF_SIGNAL = (
    *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT"),
    *("SIGSTOP", "SIGUSR1", "SIGUSR2", "SIGXCPU", "alarm", "pause"),
    *("pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait"),
)


class _Hidden(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname in MODULES:
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)
        return None


def hide() -> None:
    """Take away what Windows has not, before parpass is loaded."""
    for name in LIBRARIES:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Hidden())
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
