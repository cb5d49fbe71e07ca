"""Results of `relay.build`, under TVM's names, and the C header of an AOT library."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from parpass.errors import ArgumentError
from parpass.function_registry import PackedFunc
from parpass.runtime.compiled_module import Module
from parpass.runtime.library_file import LibraryImage, places_of, weights_begin
from parpass.runtime.ndarray import NDArray
from parpass.runtime.signature import Parameter

_TYPES = {
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
}
_KEYWORDS = {  # of C11 and C++, those that names of inputs might be
    *("auto", "bool", "break", "case", "char", "class", "const", "continue", "default"),
    *("delete", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if"),
    *("inline", "int", "long", "new", "operator", "private", "public", "register"),
    *("return", "short", "signed", "sizeof", "static", "struct", "switch", "template"),
    *("this", "typedef", "union", "unsigned", "using", "virtual", "void", "volatile"),
    *("while",),
}

_FORM = """\
/* How to call the network '{name}' of a library that parpass has made.

   The function returns 0, or the number of the kernel that found a fault. `weights`
   points to what is in the library's file from {upper}_WEIGHTS_AT on, `workspace` to
   memory of its own, at a multiple of 64. It may be called by several threads, each
   with another workspace. */
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#define {upper}_WEIGHTS_AT {begin} /* bytes, a multiple of 4096 */
#define {upper}_WEIGHTS_SIZE {size} /* bytes */
#define {upper}_WORKSPACE_SIZE {workspace} /* bytes */
{counts}

#ifdef __cplusplus
extern "C" {{
#endif

int32_t {symbol}(
{parameters});

#ifdef __cplusplus
}}
#endif

#endif
"""


def c_header(image: LibraryImage) -> str:
    """Return the header for a library.

    Raises:
        ArgumentError: It was not built for C.
    """
    name = image.manifest.module_name
    signature = image.manifest.functions.get(f"{name}_run")
    if signature is None:
        raise ArgumentError(
            "the library has no function for C to call; build it with "
            "relay.build(mod, executor='aot')"
        )
    *tensors, weights, workspace = zip(
        signature.parameters, _names(signature.parameters), strict=True
    )
    upper = name.upper()
    counts = [
        f"#define {upper}_{called.upper()}_COUNT {_count(one)} /* {_shape(one)} */"
        for one, called in tensors
    ]
    return _FORM.format(
        name=name,
        upper=upper,
        symbol=signature.symbol,
        begin=weights_begin(image),
        size=places_of(image.weights)[1],
        workspace=_count(workspace[0]),
        counts="\n".join(counts),
        parameters=",\n".join(
            f"    {_type(one)} *{called}"
            for one, called in (*tensors, weights, workspace)
        ),
    )


def _names(parameters: tuple[Parameter, ...]) -> Iterator[str]:
    """Yield distinct names that are valid in C."""
    taken: set[str] = set()
    for one in parameters:
        name = re.sub(r"\W", "_", one.name, flags=re.ASCII)
        if name[:1].isdigit() or name in _KEYWORDS:
            name = f"_{name}"
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        yield name


def _type(one: Parameter) -> str:
    kind = _TYPES.get(one.dtype, f"{one.dtype}_t")
    return kind if one.is_written else f"const {kind}"


def _count(one: Parameter) -> int:
    found = 1
    for dim in one.shape or ():
        assert isinstance(dim, int)  # the graph's shapes are known
        found *= dim
    return found


def _shape(one: Parameter) -> str:
    return " x ".join(map(str, one.shape or ())) or "a scalar"


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
