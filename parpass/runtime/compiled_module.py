"""`Module`: compiled functions by name, in memory or from a file, under TVM's names.

Machine code is loaded from the bytes that were checked. A loader identifies libraries
by path, and may return one that was loaded earlier though the file has changed. So each
is loaded from memory under a unique name, and unloaded when nothing uses it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parpass.errors import ArgumentError, LibraryError, UnknownFunctionError
from parpass.fork_safety import cached_property, forks_wait
from parpass.function_registry import PackedFunc
from parpass.lazy_loader import load_module as import_module
from parpass.runtime.graph_executor import check_device
from parpass.runtime.graph_json import read_graph
from parpass.runtime.graph_runner import GraphRunner
from parpass.runtime.kernel_call import KernelCall
from parpass.runtime.library_file import (
    LibraryImage,
    Manifest,
    read_library,
    write_library,
)
from parpass.runtime.ndarray import NDArray
from parpass.runtime.time_evaluator import BenchmarkResult, timed
from parpass.trusted_paths import UntrustedPathError, check_above


class SharedObject:
    """A shared library of this system, loaded.

    Args:
        code: Its bytes.

    Raises:
        LibraryError: The system's loader refuses it, or it would have to be in a
            temporary folder where another user could exchange it.
    """

    def __init__(self, code: bytes) -> None:
        file = _in_memory(code)
        try:
            # The system's loader has a lock, and so have names of temporary files,
            # which a child would find held.
            with forks_wait(), _path_of(file, code) as path:
                self._library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except (OSError, AttributeError, UntrustedPathError) as error:
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
        check_above(Path(stream.name))  # the loader opens it once more, by its name
        stream.write(code)
        stream.flush()
        yield stream.name


def _unload(handle: int, file: int | None) -> None:
    if hasattr(os, "RTLD_NOW"):  # elsewhere libraries stay
        unload = ctypes.CDLL(None).dlclose
        unload.argtypes = [ctypes.c_void_p]
        with forks_wait():
            unload(handle)
    if file is not None:
        os.close(file)


_NUMPY_FUNCTION = "parpass.relay.backend.numpy_function"


class Module:
    """Compiled functions; `build` creates one, and `load_module` reads one.

    Its code is loaded when you first get a function.

    Args:
        image: The library.
        type_key: Its origin: `llvm` if it was built here, `library` for a file.

    Attributes:
        entry_name: The name of the function that calling the module calls.
        image: The library.
        imported_modules: Modules whose functions are found here, too, on request.
    """

    entry_name = "__tvm_main__"

    def __init__(self, image: LibraryImage, type_key: str = "llvm") -> None:
        self.type_key = type_key
        self.imported_modules: list[Module] = []
        self.image = image
        self._functions: dict[str, PackedFunc] = {}

    @property
    def manifest(self) -> Manifest:
        """The manifest of the library: its functions, its target."""
        return self.image.manifest

    @property
    def weights(self) -> dict[str, NDArray]:
        """The arrays that are in the library, by name."""
        return dict(self.image.weights)

    @property
    def entry_func(self) -> PackedFunc:
        """The function that calling the module calls."""
        return self.get_function(self.entry_name)

    @property
    def is_dso_exportable(self) -> bool:
        """Whether it can be exported as a library."""
        return True

    @cached_property
    def _code(self) -> Any:
        image = self.image
        if image.manifest.format == "so":
            return SharedObject(image.code)
        # By name: a program that needs no LLVM does not load what needs it.
        loader = import_module("parpass.target.object_loader")
        entries = [one.entry for one in image.manifest.functions.values()]
        return loader.LoadedObjects(image.code, entries)

    def import_module(self, module: Module) -> None:
        """Make the functions of a module available here."""
        self.imported_modules.append(module)

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """Return a function.

        Args:
            name: Its name; `__tvm_main__` for the entry. For a network, `default`
                returns the input of `graph_executor.GraphModule`.
            query_imports: Whether to search imported modules.

        Raises:
            UnknownFunctionError: No function has this name.
            LibraryError: The code cannot be loaded.
        """
        said = self.manifest
        if said.graph and name == said.module_name:
            return PackedFunc(self._executor)  # not kept: it keeps this module
        known = [*said.functions, *said.numpy_functions]
        wanted = said.entry if name == self.entry_name else name
        if wanted in known:
            if wanted not in self._functions:
                self._functions[wanted] = self._loaded(wanted)
            return self._functions[wanted]
        for module in self.imported_modules if query_imports else ():
            with contextlib.suppress(UnknownFunctionError):
                return module.get_function(name, query_imports=True)
        raise UnknownFunctionError(
            name, [*known, *([said.module_name] * bool(said.graph))]
        )

    def _loaded(self, name: str) -> PackedFunc:
        said = self.manifest
        if name in said.numpy_functions:
            # By name: only what is not machine code needs what computes it.
            loader = import_module(_NUMPY_FUNCTION)
            return PackedFunc(loader.NumpyFunction.restored(said.numpy_functions[name]))
        signature = said.functions[name]
        address = self._code.address(signature.entry)
        return PackedFunc(KernelCall(signature, address, self._code))

    def _executor(self, device: Any) -> GraphRunner:
        """Return the network with memory for a run, for `GraphModule`."""
        check_device(device)
        return GraphRunner(read_graph(self.manifest.graph), self, self.image.weights)

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Write the library to a file that `load_module` reads.

        No compiler or linker is used, so arguments for them have no effect.

        Raises:
            ArgumentError: Files were to be added.
            OSError: The file cannot be written.
        """
        del fcompile, workspace_dir, kwargs
        if addons:
            raise ArgumentError("expected no addons: there is no linker to add them")
        write_library(file_name, self.image)

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the library to a file; TVM has other formats besides.

        Raises:
            ArgumentError: Another format is asked for than its code has: `so`, or
                `tar` where it is objects.
        """
        found = fmt or Path(file_name).suffix.removeprefix(".")
        if found not in (self.manifest.format, ""):
            raise ArgumentError(
                f"expected format '{self.manifest.format}' for this module, got "
                f"'{found}'"
            )
        self.export_library(file_name)

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that runs a function repeatedly and returns its times.

        Args:
            func_name: Its name.
            dev: The processor.
            number: The number of calls in a repetition.
            repeat: The number of repetitions, after one call that is not counted.
            min_repeat_ms: The minimum time of a repetition; more calls are made if
                necessary.
        """
        del dev
        function = self.get_function(func_name)

        def evaluate(*args: Any) -> BenchmarkResult:
            return timed(lambda: function(*args), number, repeat, min_repeat_ms)

        return evaluate

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __getitem__(self, name: str) -> PackedFunc:
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        """Call the entry."""
        return self.entry_func(*args)

    def __repr__(self) -> str:
        names = ", ".join(self.manifest.functions)
        return f"Module({self.type_key}: {names})"


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """Return the module of a library file, after checking all of it.

    Its code runs when you call its functions, so load only libraries that you trust
    like a program.

    Args:
        path: The file.
        fmt: Its format, `so` or `tar`; the file itself determines it.

    Raises:
        LibraryError: The library cannot be loaded; `DamagedLibraryError`,
            `ForeignLibraryError` and `CPUFeatureError` give the reason.
    """
    if fmt not in ("", "so", "tar"):
        raise LibraryError(f"expected format 'so' or 'tar' for a library, got '{fmt}'")
    return Module(read_library(path), "library")
