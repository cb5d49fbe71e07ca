"""`build`: PrimFuncs become a module of machine code, each compiled by a worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parpass.errors import CodeGenError
from parpass.errors.core import describe_kind
from parpass.ir.module import IRModule
from parpass.ir.tir_config import checks_bounds
from parpass.runner import run_pipeline_sync
from parpass.runtime.compiled_module import Module
from parpass.runtime.library_file import LibraryImage, Manifest
from parpass.target.code_gen import CodeGen
from parpass.target.compiled_func import CompiledFunc, CompiledFuncCache
from parpass.target.elf_linker import link
from parpass.target.llvm_object import llvmlite_version
from parpass.target.lower_elementary import LowerElementary
from parpass.target.object_loader import packed
from parpass.target.target import Target
from parpass.tir.function import PrimFunc
from parpass.tir.transform import (
    FlattenBuffer,
    InstrumentBoundCheckers,
    RewriteUnsafeSelect,
    StorageFlatten,
    UnrollLoop,
    VectorizeLoop,
)
from parpass.transform import Pass, PassContext, Sequential

if TYPE_CHECKING:
    from parpass.runner import FunctionCache

_DISABLE_VECTORIZE = "tir.disable_vectorize"


def lowering(target: Any = None, kept: CompiledFuncCache | None = None) -> Sequential:
    """Return the passes from PrimFuncs to machine code; all are function-wise.

    They respect the options of TVM's `build` in the current context:
    `tir.disable_vectorize` and `tir.instrument_bound_checkers`.

    Args:
        target: The machine; by default the current target, or this machine.
        kept: The store that keeps each compiled function at once; None for none.
    """
    context = PassContext.current()
    checks = checks_bounds(context)
    passes: list[Pass] = [
        StorageFlatten(create_bound_attribute=True) if checks else FlattenBuffer(),
        VectorizeLoop(enable_vectorize=not context.config.get(_DISABLE_VECTORIZE)),
        LowerElementary(),
        UnrollLoop(),
        RewriteUnsafeSelect(),
        *([InstrumentBoundCheckers()] if checks else []),
        CodeGen(target).keeping(kept),
    ]
    return Sequential(passes, name="build")


def build(
    inputs: PrimFunc | IRModule | Mapping[Any, PrimFunc],
    args: None = None,
    target: Any = None,
    target_host: Any = None,
    name: str = "default_function",
    *,
    workers: int | None = None,
    cache: FunctionCache | str | os.PathLike[str] | None = None,
) -> Module:
    """Compile PrimFuncs, and return a module whose functions can be called.

    Args:
        inputs: A function, a module of functions, or a mapping.
        args: Not used: a function knows its arguments.
        target: The machine; by default the current target, or this machine.
        target_host: The machine that calls; must be the same.
        name: The name of a function without a `global_symbol`.
        workers: The maximum number of processes; None for one per core, 0 for this one
            alone.
        cache: Results of earlier runs; unchanged functions are taken from it.

    Raises:
        CodeGenError: Something has no machine code, or llvmlite is not installed.
        TargetError: The target is unknown.
    """
    del args, target_host
    mod = _module(inputs, name)
    compiled = run_pipeline_sync(mod, lowering(target), workers=workers, cache=cache)
    return linked(compiled)


def _module(inputs: Any, name: str) -> IRModule:
    if isinstance(inputs, PrimFunc):
        inputs = {inputs.attributes.get("global_symbol", name): inputs}
    mod = inputs if isinstance(inputs, IRModule) else IRModule(inputs)
    others = [n for n, f in mod.functions_by_name.items() if type(f) is not PrimFunc]
    if others or not len(mod):
        got = describe_kind(mod[others[0]]) if others else "an empty module"
        raise CodeGenError(f"expected a module of PrimFuncs to build, got {got}")
    return mod


def linked(mod: IRModule, fmt: str = "") -> Module:
    """Return compiled functions as one library, in the order of the module.

    Args:
        mod: The functions.
        fmt: `so`, or `tar` for objects that LLVM loads; what the target's system has.

    Raises:
        CodeGenError: They are for several targets, or two have one symbol.
    """
    functions: dict[str, CompiledFunc] = dict(mod.functions_by_name)
    targets = {one.target for one in functions.values()}
    if len(targets) != 1:
        raise CodeGenError(f"expected functions for one target, got {sorted(targets)}")
    return Module(library_image(functions, Target(targets.pop()), fmt))


def library_image(
    functions: Mapping[str, CompiledFunc], target: Target, fmt: str = ""
) -> LibraryImage:
    """Return compiled functions for a target, resolved, as one library.

    Functions may be one object's: those that were found to be equal.

    Raises:
        CodeGenError: Two have one symbol.
    """
    signatures = {n: one.signature for n, one in functions.items()}
    objects = {(signatures[n].symbol, one.code): None for n, one in functions.items()}
    has_libraries = (target.architecture, target.system) == ("x86_64", "linux")
    fmt = fmt or ("so" if has_libraries else "tar")
    if fmt == "so":
        exported = dict.fromkeys(
            name for one in signatures.values() for name in (one.symbol, one.entry)
        )
        code = link([code for _, code in objects], [*exported])
    else:
        code = packed(objects)
    manifest = Manifest(
        *(str(target), target.architecture, target.system, target.features()),
        *(signatures, _entry(functions), {"llvmlite": llvmlite_version()}, fmt),
    )
    return LibraryImage(manifest, code)


def _entry(functions: Mapping[str, CompiledFunc]) -> str:
    """Return the name of the function that calling the module calls: as in TVM."""
    for name, one in functions.items():
        if one.attributes.get("tir.is_entry_func"):
            return name
    names = list(functions)
    return names[0] if len(names) == 1 else "main" if "main" in functions else ""
