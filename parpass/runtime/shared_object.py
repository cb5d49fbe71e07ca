"""Loads machine code from bytes: the very ones that were checked, and for as long.

A loader knows libraries by their paths, and gives who asks for one again what it has,
though the file may be another one by then. So each is loaded from memory under a name
that no other has meanwhile, and is unloaded when nothing uses it any more.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import weakref
from collections.abc import Generator
from contextlib import contextmanager

from parpass.errors import LibraryError


class SharedObject:
    """A shared library of this system, loaded.

    Args:
        code: Its bytes.

    Raises:
        LibraryError: The system's loader refuses it.
    """

    def __init__(self, code: bytes) -> None:
        file = _in_memory(code)
        try:
            with _path_of(file, code) as path:
                self._library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except (OSError, AttributeError) as error:
            if file is not None:
                os.close(file)
            raise LibraryError(f"a library cannot be loaded: {error}") from None
        handle = self._library._handle  # noqa: SLF001 -- documented
        self._unload = weakref.finalize(self, _unload, handle, file)
        self._unload.atexit = False

    def address(self, symbol: str) -> int:
        """Return where a function is.

        Raises:
            LibraryError: There is none of that name.
        """
        try:
            found = getattr(self._library, symbol)
        except AttributeError:
            raise LibraryError(f"the library has no function '{symbol}'") from None
        return ctypes.cast(found, ctypes.c_void_p).value or 0


def _in_memory(code: bytes) -> int | None:
    """Return a file in memory; None where the system has none."""
    if not hasattr(os, "memfd_create"):
        return None
    file = os.memfd_create("parpass")
    try:
        with open(file, "wb", closefd=False) as stream:
            stream.write(code)
    except BaseException:
        os.close(file)
        raise
    return file


@contextmanager
def _path_of(file: int | None, code: bytes) -> Generator[str]:
    if file is not None:
        # The number is taken for as long as the library is loaded.
        yield f"/proc/{os.getpid()}/fd/{file}"
        return
    with tempfile.NamedTemporaryFile(prefix="parpass-", suffix=".so") as stream:
        stream.write(code)
        stream.flush()
        yield stream.name


def _unload(handle: int, file: int | None) -> None:
    if hasattr(os, "RTLD_NOW"):  # elsewhere libraries stay
        unload = ctypes.CDLL(None).dlclose
        unload.argtypes = [ctypes.c_void_p]
        unload(handle)
    if file is not None:
        os.close(file)
