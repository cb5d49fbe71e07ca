"""A network of kernels becomes a library: these compiled, its graph laid out."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

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
    """A pipeline that is to be run on a module: here, or by workers.

    Attributes:
        mod: The module.
        pipeline: The pipeline.
        what: Its purpose, in a few words, for progress output.
    """

    mod: IRModule
    pipeline: Pass
    what: str


Runs = Generator[PipelineRun, IRModule, LibraryImage]
"""Yields what is to be run, is sent what comes of it, and returns the library."""


def library_runs(
    fused: IRModule,
    target: Target,
    module_name: str = "default",
    store: ObjectStore | None = None,
    executor: str = "graph",
) -> Runs:
    """Compile the kernels that `main` calls, and lay out its graph.

    What an earlier build compiled is not even lowered; the rest travels to the workers
    as functions of a few nodes, and comes back as machine code.

    Args:
        fused: The module; see `graph_of`. Of its kernels those of Relay are lowered.
        target: The machine, resolved.
        module_name: Under which name the library has the network.
        store: Where objects of earlier builds are; None for nowhere.
        executor: What runs the library: `graph`, or `aot` for C, too.

    Raises:
        CodeGenError: `main` has control flow, a shape is not known, or a kernel has no
            machine code.
    """
    generated = graph_of(fused)
    called = dict.fromkeys(node.function for node in generated.graph.nodes)
    functions = {name: fused[name] for name in called if name}
    kernels = {n: f for n, f in functions.items() if _is_kernel(f)}
    once = CompileOnce(kernels, target, store, is_lowered_by_shipped_rules)
    new = once.missing
    if len(new):
        what = f"compiling {len(new):,} of {len(new) + once.num_known:,} kernels"
        passes = [LowerToTIR(target), lowering(target, once.where_to_keep())]
        new = yield PipelineRun(new, Sequential(passes, name="kernels"), what)
    functions |= once.all_of(new)
    compiled = {n: f for n, f in functions.items() if isinstance(f, CompiledFunc)}
    if executor == "aot":
        signatures = {name: one.signature for name, one in compiled.items()}
        symbol = f"{module_name}_run"
        main = aot_main(*generated, signatures, symbol)
        what = "compiling the function that C calls"
        done = yield PipelineRun(IRModule({symbol: main}), lowering(target), what)
        compiled |= dict(done.functions_by_name)
    others = {n: as_json(f) for n, f in functions.items() if isinstance(f, Function)}
    return _with_network(
        library_image(compiled, target), generated, module_name, others
    )


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
