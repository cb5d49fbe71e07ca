"""Networks of kernels become libraries: these compiled, their graphs laid out."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

from parpass.errors.core import add_note
from parpass.ir.base_func import BaseFunc
from parpass.ir.module import IRModule
from parpass.object_store import ObjectStore
from parpass.relay.backend.aot_executor_codegen import aot_main
from parpass.relay.backend.graph_executor_codegen import Generated, graph_of
from parpass.relay.backend.lowering.lower_to_tir import (
    LowerToTIR,
    is_lowered_by_shipped_rules,
    is_to_lower,
)
from parpass.relay.backend.numpy_function import as_json
from parpass.relay.expr import Function
from parpass.runtime.library_file import LibraryImage
from parpass.target.build_library import library_image, lowering
from parpass.target.compile_once import CompileOnce
from parpass.target.compiled_func import CompiledFunc
from parpass.target.target import Target
from parpass.tir.function import PrimFunc
from parpass.transform import Pass, Sequential


class PipelineRun(NamedTuple):
    """A run that a build needs, by workers or in this process.

    Attributes:
        mod: An IRModule, or `Networks`.
        pipeline: The pipeline.
        what: The purpose, for progress output.
    """

    mod: Any
    pipeline: Pass
    what: str


Runs = Generator[PipelineRun, Any, dict[str, LibraryImage]]
"""Yields runs, is sent their results, and returns the libraries by name."""


def library_runs(
    networks: Mapping[str, IRModule],
    target: Target,
    module_name: str = "default",
    store: ObjectStore | None = None,
    executor: str = "graph",
) -> Runs:
    """Compile the kernels of networks, and lay out their graphs.

    Kernels in the store are not lowered. The others of all networks are compiled in one
    run, equal ones once, so that no core waits for the last ones of a network.

    Args:
        networks: Modules as `graph_of` takes them, by name; kernels are PrimFuncs, or
            primitive functions of Relay.
        target: The machine, resolved.
        module_name: The name of the network in each library.
        store: The store of compiled kernels; None for none.
        executor: `graph`, or `aot` for libraries that C can also run.

    Raises:
        CodeGenError: A `main` has control flow, a shape is not known, or a kernel has
            no machine code.
    """
    planned: dict[str, _Planned] = {}
    for name, fused in networks.items():
        try:
            planned[name] = _Planned(fused)
        except Exception as error:
            if len(networks) > 1:
                add_note(error, f"in network '{name}'")
            raise
    kernels = [one.kernels for one in planned.values()]
    once = CompileOnce(kernels, target, store, is_lowered_by_shipped_rules)
    new = once.missing
    if len(new):
        what = f"compiling {len(new):,} of {len(new) + once.num_known:,} kernels"
        passes = [LowerToTIR(target), lowering(target, once.where_to_keep())]
        new = yield PipelineRun(new, Sequential(passes, name="kernels"), what)
    images: dict[str, LibraryImage] = {}
    for (name, one), made in zip(planned.items(), once.all_of(new), strict=True):
        functions = one.functions | made
        compiled = {n: f for n, f in functions.items() if isinstance(f, CompiledFunc)}
        if executor == "aot":
            signatures = {name: each.signature for name, each in compiled.items()}
            symbol = f"{module_name}_run"
            main = aot_main(*one.generated, signatures, symbol)
            what = "compiling the function that C calls"
            done = yield PipelineRun(IRModule({symbol: main}), lowering(target), what)
            compiled |= dict(done.functions_by_name)
        others = {
            n: as_json(f) for n, f in functions.items() if isinstance(f, Function)
        }
        image = library_image(compiled, target)
        images[name] = _with_network(image, one.generated, module_name, others)
    return images


class _Planned:
    """The graph of a network, and the functions that it calls, by name."""

    def __init__(self, fused: IRModule) -> None:
        self.generated = graph_of(fused)
        called = dict.fromkeys(one.function for one in self.generated.graph.nodes)
        self.functions = {name: fused[name] for name in called if name}
        self.kernels = {n: f for n, f in self.functions.items() if _is_kernel(f)}


def _is_kernel(function: BaseFunc) -> bool:
    return isinstance(function, PrimFunc) or is_to_lower(function)


def _with_network(
    image: LibraryImage, generated: Generated, name: str, others: dict[str, str]
) -> LibraryImage:
    manifest = image.manifest._replace(
        entry="",
        graph=generated.graph.to_json(),
        module_name=name,
        numpy_functions=others,
    )
    return image._replace(manifest=manifest, weights=generated.params)
