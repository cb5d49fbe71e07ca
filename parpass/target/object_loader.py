"""Loads objects by LLVM's own linker in memory (ORC), where there is no library.

Elsewhere than on Linux with x86-64 a compiled module is a tar of objects. To run it
needs llvmlite, then, and takes longer to load than a shared library. This module is
apart since a program that runs one loads it, and not what compiles.
"""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Iterable

from parpass.errors import LibraryError
from parpass.fork_safety import forks_wait
from parpass.target.llvm_object import llvm_binding, llvm_lock

_numbers = itertools.count()


def packed(objects: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a tar of objects by the names of their functions, always the same."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for at, (name, code) in enumerate(objects):
            member = tarfile.TarInfo(f"{at}_{name[:60]}.o")
            member.size = len(code)
            tar.addfile(member, io.BytesIO(code))
    return stream.getvalue()


class LoadedObjects:
    """The objects of a tar, loaded.

    Args:
        code: The tar.
        symbols: Their functions.

    Raises:
        LibraryError: They cannot be loaded.
    """

    def __init__(self, code: bytes, symbols: Iterable[str]) -> None:
        with forks_wait(), llvm_lock:
            self._load(code, symbols)

    def _load(self, code: bytes, symbols: Iterable[str]) -> None:
        llvm = llvm_binding()
        builder = llvm.JITLibraryBuilder().add_current_process()
        with tarfile.open(fileobj=io.BytesIO(code)) as tar:
            for member in tar:
                file = tar.extractfile(member)
                assert file is not None  # objects are plain files
                builder.add_object_img(file.read())
        for symbol in symbols:
            builder.export_symbol(symbol)
        try:
            self._linker = llvm.create_lljit_compiler()
            self._loaded = builder.link(self._linker, f"parpass{next(_numbers)}")
        except RuntimeError as error:
            raise LibraryError(f"objects cannot be loaded: {error}") from None

    def address(self, symbol: str) -> int:
        """Return where a function is."""
        return self._loaded[symbol]
