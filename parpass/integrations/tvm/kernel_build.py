"""`build`: TVM's compilation with its kernels compiled by workers, and one library."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import tvm
from tvm.support import cc

from parpass import Runner, run_pipeline_sync
from parpass.errors import ArgumentError, RuntimeUseError, WorkerDiedError
from parpass.integrations.tvm.kernel_batches import (
    CompileKernels,
    KernelBatch,
    KernelBatches,
    batches_of,
)

_EXTERNAL = "external_mods"  # TVM's attribute for libraries that a module comes with


def build(
    mod: Any,
    target: Any = None,
    *,
    relax_pipeline: Any = "default",
    tir_pipeline: str | None = "default",
    params: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    runner: Runner | None = None,
    **options: Any,
) -> Any:
    """Compile a TVM module for this machine or another, on every core.

    This combines `tvm.compile` and `export_library`: workers compile PrimFuncs, this
    process compiles Relax functions, and the linker makes one library. The settings are
    those of TVM's current PassContext.

    Args:
        mod: An IRModule, or a PrimFunc. It is not changed.
        target: A target of kind `llvm`; by default the current one, or else `llvm`.
        relax_pipeline: As for `tvm.compile`.
        tir_pipeline: The name of a TVM pipeline.
        params: As for `tvm.relax.build`.
        output: The file for the library; by default a temporary one that is gone once
            it is loaded.
        workers: The maximum number of processes; None for every core, 0 for none.
        runner: A runner whose workers are kept, instead of `workers`.
        options: Further options of `parpass.run_pipeline_sync`: `progress`, which shows
            the kernels that workers compile, `cache`, `function_timeout` and
            `memory_limit` for a batch of kernels, and `report`.

    Returns:
        The loaded library: a `tvm.runtime.Module`, whose functions you call by name, or
            through `tvm.relax.VirtualMachine`.

    Raises:
        ArgumentError: The module, the target or the pipeline is not supported here.
        RuntimeUseError: There is no C++ compiler to link with.
        WorkerDiedError: A kernel, which the message names, killed a worker.
        Exception: TVM's exception, with a note that names the kernel.
    """
    if isinstance(mod, tvm.tirx.PrimFunc):
        mod = tvm.IRModule.from_expr(mod)
    if options.get("on_failure") is not None:
        raise ArgumentError(
            "expected no on_failure, got one: a library has all of its kernels"
        )
    chosen = _checked(mod, target, tir_pipeline)
    is_relax = _has_relax(mod)
    if is_relax:
        mod = _lowered(mod, chosen, relax_pipeline)
    elif params or _EXTERNAL in _attrs(mod):
        raise ArgumentError(
            "expected params and external modules beside Relax functions alone, got "
            "them with none"
        )
    kernels, rest = _parted(mod)
    symbols = _symbols(kernels)
    pipeline = CompileKernels(chosen, tir_pipeline)

    def compiled(batches: KernelBatches) -> KernelBatches:
        if runner is not None:
            return runner.run_sync(batches, pipeline, **options)
        return run_pipeline_sync(batches, pipeline, workers=workers, **options)

    given = batches_of(kernels)
    try:
        made = compiled(given)
    except WorkerDiedError as error:
        compiled(given.functions[error.function].apart())  # which names the kernel
        raise
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        objects = _written(made, folder)
        path = os.path.abspath(output or os.path.join(folder, "library.so"))
        if is_relax:
            libraries = [
                tvm.runtime.load_static_library(file, [symbols[n] for n in names])
                for file, names in objects.items()
            ]
            linked = _with_libraries(rest, libraries)
            executable = tvm.relax.build(
                linked, target=chosen, params=dict(params or {}), relax_pipeline=None
            )
            executable.export_library(path)
        else:
            cc.create_shared(path, [*objects])
        return tvm.runtime.load_module(path)


def _checked(mod: Any, target: Any, pipeline: str | None) -> Any:
    """Return the target as TVM makes it, after checks of all arguments."""
    if not isinstance(mod, tvm.IRModule):
        raise ArgumentError(
            f"expected an IRModule or a PrimFunc of TVM, got {type(mod).__name__}"
        )
    if not isinstance(cast("object", pipeline), str | None):
        raise ArgumentError(
            "expected the name of a pipeline for tir_pipeline, got "
            f"{type(pipeline).__name__}: workers find one by name alone"
        )
    if target is None:
        target = tvm.target.Target.current() or "llvm"
    chosen = tvm.target.Target(target)
    host = chosen.host or chosen
    for one in (chosen, host):
        if one.kind.name != "llvm":
            raise ArgumentError(
                f"expected a target of kind 'llvm', got '{one.kind.name}': code for "
                "devices is built by 'tvm.compile'"
            )
    if not cc.get_cc():
        raise RuntimeUseError(
            "a library is linked by a C++ compiler, and there is none: install g++ or "
            "clang, or set CXX to one"
        )
    return chosen


def _attrs(mod: Any) -> Mapping[str, Any]:
    return dict(mod.attrs.items()) if mod.attrs else {}


def _has_relax(mod: Any) -> bool:
    return any(isinstance(one, tvm.relax.Function) for one in mod.functions.values())


def _lowered(mod: Any, target: Any, pipeline: Any) -> Any:
    """Return what TVM's passes for Relax make of a module."""
    if pipeline is None:
        return mod
    if isinstance(pipeline, str):
        pipeline = tvm.relax.get_pipeline(pipeline)
    with target:
        return pipeline(mod)


def _parted(mod: Any) -> tuple[Any, Any]:
    """Return two modules: the PrimFuncs of one, and its other functions."""
    kernels: dict[Any, Any] = {}
    rest: dict[Any, Any] = {}
    for name, function in mod.functions.items():
        is_kernel = isinstance(function, tvm.tirx.PrimFunc)
        (kernels if is_kernel else rest)[name] = function
    attrs = {key: one for key, one in _attrs(mod).items() if key != _EXTERNAL}
    return (
        tvm.IRModule(kernels, attrs=attrs),
        tvm.IRModule(rest, attrs=mod.attrs, global_infos=mod.global_infos),
    )


def _symbols(kernels: Any) -> Mapping[str, str]:
    """Return the symbol of each kernel that has one, by its name.

    Raises:
        ArgumentError: Two have the same.
    """
    found = {
        str(name.name_hint): str(function.attrs["global_symbol"])
        for name, function in kernels.functions.items()
        if function.attrs and "global_symbol" in function.attrs
    }
    symbol, count = Counter(found.values()).most_common(1)[0] if found else ("", 0)
    if count > 1:
        names = ", ".join(f"'{name}'" for name, one in found.items() if one == symbol)
        raise ArgumentError(
            f"expected a global_symbol for each kernel, got '{symbol}' for {names}"
        )
    return found


def _written(made: KernelBatches, folder: str) -> Mapping[str, list[str]]:
    """Write object files; return the names of the kernels of each, by its path."""
    paths: dict[str, list[str]] = {}
    for at, batch in enumerate(made.functions.values()):
        path = Path(folder, f"{at}.o")
        path.write_bytes(batch.code)
        paths[str(path)] = _names(batch)
    return paths


def _names(batch: KernelBatch) -> list[str]:
    return [name for name, _ in batch.kernels]


def _with_libraries(rest: Any, libraries: list[Any]) -> Any:
    given = _attrs(rest).get(_EXTERNAL, [])
    return rest.with_attr(_EXTERNAL, [*given, *libraries])
