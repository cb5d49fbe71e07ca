"""What `relay.build` returns, under TVM's names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from parpass.relay.backend.c_header import c_header
from parpass.runtime.compiled_module import Module
from parpass.runtime.ndarray import NDArray
from parpass.runtime.registry import PackedFunc


class GraphExecutorFactoryModule:
    """A compiled network: code, graph and weights, in memory.

    `lib["default"](tvm.cpu())` gives what `graph_executor.GraphModule` runs, and
    `graph, lib, params = relay.build(...)` takes it apart.

    Args:
        module: The library.

    Attributes:
        module: The library, as `load_module` gives it after `export_library`.
        libmod_name: Under which name it has the network.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.libmod_name = module.manifest.module_name

    def get_graph_json(self) -> str:
        """Return the graph in TVM's JSON."""
        return self.module.manifest.graph

    get_executor_config = get_graph_json

    def get_params(self) -> dict[str, NDArray]:
        """Return the weights by the names that they have in the graph."""
        return self.module.weights

    def get_lib(self) -> Module:
        """Return the module that has the kernels."""
        return self.module

    @property
    def numpy_functions(self) -> tuple[str, ...]:
        """The names of the functions that are not machine code, for want of a rule."""
        return tuple(self.module.manifest.numpy_functions)

    def export_library(self, file_name: str | os.PathLike[str], **kwargs: Any) -> None:
        """Write code, graph and weights to a file that `load_module` reads.

        See `Module.export_library` for arguments and errors.
        """
        self.module.export_library(file_name, **kwargs)

    def c_header(self) -> str:
        """Return what a C program includes to run the network: see `executor="aot"`.

        Raises:
            ArgumentError: It was not built for C.
        """
        return c_header(self.module.image)

    def __getitem__(self, name: str) -> PackedFunc:
        return self.module[name]

    def __iter__(self) -> Iterator[Any]:
        yield from (self.get_graph_json(), self.module, self.get_params())

    def __repr__(self) -> str:
        return f"GraphExecutorFactoryModule({self.libmod_name}: {self.module!r})"
