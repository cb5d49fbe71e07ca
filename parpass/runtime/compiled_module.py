"""`Module`: compiled functions by name, in memory or from a file, under TVM's names."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from parpass.errors import ArgumentError, LibraryError, UnknownFunctionError
from parpass.runtime.graph_executor import check_device
from parpass.runtime.graph_json import read_graph
from parpass.runtime.graph_runs import GraphRuns
from parpass.runtime.kernel_call import KernelCall
from parpass.runtime.library_file import (
    LibraryImage,
    Manifest,
    read_library,
    write_library,
)
from parpass.runtime.ndarray import NDArray
from parpass.runtime.registry import PackedFunc
from parpass.runtime.shared_object import SharedObject
from parpass.runtime.time_evaluator import BenchmarkResult, timed


class Module:
    """Compiled functions; `build` makes one, `load_module` reads one.

    Its code is loaded when a function is first asked for.

    Args:
        image: The library.
        type_key: What it is: `llvm` for what was built here, `library` for a file.

    Attributes:
        entry_name: The name of the function that calling the module calls.
        image: The library.
        imported_modules: Modules whose functions are found here, too, if asked for.
    """

    entry_name = "__tvm_main__"

    def __init__(self, image: LibraryImage, type_key: str = "llvm") -> None:
        self.type_key = type_key
        self.imported_modules: list[Module] = []
        self.image = image
        self._functions: dict[str, PackedFunc] = {}

    @property
    def manifest(self) -> Manifest:
        """What the library says of itself: its functions, its target."""
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

    @functools.cached_property
    def _code(self) -> Any:
        image = self.image
        if image.manifest.format == "so":
            return SharedObject(image.code)
        # By name: a program that needs no LLVM does not load what needs it.
        loader = importlib.import_module("parpass.target.object_loader")
        symbols = [one.symbol for one in image.manifest.functions.values()]
        return loader.LoadedObjects(image.code, symbols)

    def import_module(self, module: Module) -> None:
        """Have the functions of another module found here, too, if asked for."""
        self.imported_modules.append(module)

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """Return a function.

        Args:
            name: Its name; `__tvm_main__` for the entry. Of a network, `default` gives
                what `graph_executor.GraphModule` runs.
            query_imports: Whether to look in imported modules.

        Raises:
            UnknownFunctionError: There is none of that name.
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
            loader = importlib.import_module("parpass.relay.backend.numpy_function")
            return PackedFunc(loader.NumpyFunction.restored(said.numpy_functions[name]))
        signature = said.functions[name]
        address = self._code.address(signature.symbol)
        return PackedFunc(KernelCall(signature, address, self._code))

    def _executor(self, device: Any) -> GraphRuns:
        """Return the network with memory for a run, for `GraphModule`."""
        check_device(device)
        return GraphRuns(read_graph(self.manifest.graph), self, self.image.weights)

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Write the library to a file that `load_module` reads.

        No compiler and no linker are used, so arguments for them have no meaning.

        Raises:
            ArgumentError: Files are to be added.
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
        """Return what runs a function again and again, and says how long it took.

        Args:
            func_name: Its name.
            dev: The processor.
            number: How many calls are one repetition.
            repeat: How many repetitions there are, after one call that is not counted.
            min_repeat_ms: How long a repetition takes at least; more calls are made.
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
    """Return the module of a library file, all of which is checked.

    Its code runs when its functions are called, so load libraries of those alone whom
    you would let run programs.

    Args:
        path: The file.
        fmt: Its format, `so` or `tar`; the file itself says which.

    Raises:
        LibraryError: It cannot be loaded; `DamagedLibraryError`, `ForeignLibraryError`
            and `CPUFeatureError` say why.
    """
    if fmt not in ("", "so", "tar"):
        raise LibraryError(f"expected format 'so' or 'tar' for a library, got '{fmt}'")
    return Module(read_library(path), "library")
