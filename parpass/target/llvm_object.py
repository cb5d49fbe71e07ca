"""LLVM's text made object code, by llvmlite.

LLVM runs light: loops are unrolled and vectorised before, in the IR of loops, so its
passes that do so are off. One context for each function, so that nothing that one
leaves behind shows in the next: the bytes depend on the text, the target and the
version of LLVM alone.
"""

from __future__ import annotations

import functools
import threading
from importlib import metadata
from typing import Any

from parpass.errors import CodeGenError
from parpass.fork_safety import forks_wait
from parpass.target.target import Target

LLVM_NEEDED = "machine code needs llvmlite: pip install 'parpass[llvm]'"

llvm_lock = threading.RLock()  # held, where forks wait, by whoever calls LLVM


def object_code(text: str, target: Target, symbol: str = "") -> bytes:
    """Return the object code of a function in LLVM's text, for a resolved target.

    Args:
        text: The function, with what it declares.
        target: The machine.
        symbol: The function's name, for messages.

    Raises:
        CodeGenError: llvmlite is not installed, or does not accept the text.
    """
    with forks_wait(), llvm_lock:
        return _object_code(text, target, symbol)


def _object_code(text: str, target: Target, symbol: str) -> bytes:
    llvm = llvm_binding()
    machine = _machine(target.triple, target.features())
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(_whole(text, target.triple, machine), context)
        except RuntimeError as error:
            told = f"LLVM refuses the text of '{symbol}': {error}"
            raise CodeGenError(told, symbol) from None
        with module:
            tuning = llvm.create_pipeline_tuning_options(speed_level=1)
            tuning.loop_vectorization = tuning.slp_vectorization = False
            tuning.loop_unrolling = False
            with (
                llvm.create_pass_builder(machine, tuning) as builder,
                builder.getModulePassManager() as passes,
            ):
                passes.run(module, builder)
            return machine.emit_object(module)


def llvmlite_version() -> str:
    """Return llvmlite's version, which bytes depend on, without loading it.

    Raises:
        CodeGenError: llvmlite is not installed.
    """
    try:
        return metadata.version("llvmlite")
    except metadata.PackageNotFoundError:
        raise CodeGenError(LLVM_NEEDED) from None


def _whole(text: str, triple: str, machine: Any) -> str:
    return (
        f'target triple = "{triple}"\n'
        f'target datalayout = "{machine.target_data}"\n'
        f"{text}\n"
        'attributes #0 = { nounwind "no-builtins" }\n'
    )


@functools.cache
def llvm_binding() -> Any:
    """Return llvmlite's binding, ready for use.

    Raises:
        CodeGenError: llvmlite is not installed.
    """
    with forks_wait(), llvm_lock:
        try:
            # It takes a quarter of a second to load, and is an extra.
            import llvmlite.binding as llvm
        except ImportError:
            raise CodeGenError(LLVM_NEEDED) from None
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm


@functools.lru_cache(maxsize=8)
def _machine(triple: str, features: tuple[str, ...]) -> Any:
    llvm = llvm_binding()
    try:
        found = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise CodeGenError(f"LLVM has no target '{triple}': {error}") from None
    return found.create_target_machine(
        cpu="x86-64" if triple.startswith("x86_64") else "generic",
        features=",".join(f"+{name}" for name in features),
        opt=1,
        reloc="pic",
        codemodel="small",
    )
