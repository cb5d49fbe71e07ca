"""The PrimFuncs of a build in batches, and the pass that compiles one.

A batch is what one worker compiles to one object file. TVM sets LLVM up for each, which
takes 15 ms, where a kernel takes 30 to 120; so it has several kernels. Which ones
depends on the module alone, so the library is the same with any number of workers.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm

from parpass.errors import ArgumentError
from parpass.integrations.tvm.graph_codec import (
    decode,
    encode,
    global_names,
    unify_globals,
)
from parpass.integrations.tvm.tvm_settings import TVMSettings
from parpass.spi import ModuleAdapter, register_adapter
from parpass.transform import FunctionPass, PassContext, PassInfo

_KERNELS = 4  # of a batch, unless more of them call each other
_NODE_BYTES = 45  # of a node that is encoded, about


@dataclass(frozen=True)
class KernelBatch:
    """PrimFuncs, and what they were compiled to.

    Attributes:
        kernels: Their names in the module, and they, encoded.
        attrs: The attributes of the module, encoded.
        code: The object file; nothing before it is compiled.
    """

    kernels: tuple[tuple[str, bytes], ...]
    attrs: bytes
    code: bytes = b""

    @property
    def size(self) -> int:
        """The number of nodes, about."""
        return sum(len(encoded) for _, encoded in self.kernels) // _NODE_BYTES

    def module(self) -> Any:
        """Return the kernels as an IRModule."""
        mod = tvm.IRModule(
            {name: decode(encoded) for name, encoded in self.kernels},
            attrs=decode(self.attrs),
        )
        refer = any(global_names(encoded) for _, encoded in self.kernels)
        return unify_globals(mod) if refer else mod

    def apart(self) -> KernelBatches:
        """Return batches of one kernel each, of those that call no other."""
        return KernelBatches(
            {
                one[0]: replace(self, kernels=(one,))
                for one in self.kernels
                if not global_names(one[1])
            }
        )


@dataclass(frozen=True)
class KernelBatches:
    """A module: batches by the names of their kernels."""

    functions: Mapping[str, KernelBatch]


class KernelAdapter(ModuleAdapter):
    """Handles batches, which are pickled."""

    module_type = KernelBatches
    function_type = KernelBatch
    mutability = None  # batches are frozen

    def size(self, function: KernelBatch, limit: int) -> int:
        """Return about how many nodes its kernels have."""
        return min(function.size, limit)


register_adapter(KernelBatches, KernelAdapter(), passes_in=[__name__])


class CompileKernels(FunctionPass):
    """Compiles each batch by TVM to an object file.

    Args:
        target: The target.
        pipeline: The name of TVM's pipeline for PrimFuncs.
    """

    cost_follows_size = False
    pass_info = PassInfo(0, "CompileKernels")

    def __init__(self, target: Any, pipeline: str | None) -> None:
        self.target, self.pipeline = encode(target), pipeline
        self.settings = TVMSettings.current()

    def transform_function(
        self, func: KernelBatch, mod: KernelBatches, ctx: PassContext
    ) -> KernelBatch:
        """Return a batch with its object file."""
        del mod, ctx
        try:
            return replace(func, code=self._compiled(func.module()))
        except Exception as error:
            if len(func.kernels) > 1:
                self._name_culprit(func, error)
            raise

    def _compiled(self, mod: Any) -> bytes:
        with self.settings.context():
            library = tvm.tirx.build(mod, decode(self.target), self.pipeline)
        if library.imports:
            raise ArgumentError(
                "expected kernels for the host, got code for a device, of kind "
                f"'{library.imports[0].kind}': build such modules by 'tvm.compile'"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernels.o")
            library.write_to_file(path, "o")
            with open(path, "rb") as file:
                return file.read()

    def _name_culprit(self, batch: KernelBatch, error: Exception) -> None:
        """Add a note to an error that names the first kernel which raises it alone."""
        for name, one in batch.apart().functions.items():
            try:
                self._compiled(one.module())
            except Exception as again:  # noqa: BLE001 -- whatever TVM raises
                if type(again) is type(error):
                    error.add_note(f"in kernel '{name}'")
                    return


def batches_of(mod: Any) -> KernelBatches:
    """Return the PrimFuncs of an IRModule in batches, in the order of the module.

    Raises:
        ArgumentError: One of them holds what belongs to this process.
    """
    encoded: dict[str, bytes] = {}
    for variable, function in mod.functions.items():
        name = str(variable.name_hint)
        try:
            encoded[name] = encode(function)
        except ArgumentError as error:
            error.add_note(f"in kernel '{name}'")
            raise
    attrs = encode(mod.attrs)
    batches: dict[str, KernelBatch] = {}
    for names in _grouped(encoded):
        kernels = tuple((name, encoded[name]) for name in names)
        batches[", ".join(names)] = KernelBatch(kernels, attrs)
    return KernelBatches(batches)


def _grouped(encoded: Mapping[str, bytes]) -> Sequence[Sequence[str]]:
    """Return names in groups, those that refer to each other in one."""
    group = {name: [name] for name in encoded}
    for name, content in encoded.items():
        for other in global_names(content) & encoded.keys():
            if group[other] is not group[name]:
                joined = group[name] + group[other]
                group |= dict.fromkeys(joined, joined)
    order = {name: at for at, name in enumerate(encoded)}
    found: list[list[str]] = []
    done: set[str] = set()
    for name in encoded:
        if name in done:
            continue
        together = sorted(group[name], key=order.__getitem__)
        done.update(together)
        if found and len(found[-1]) + len(together) <= _KERNELS:
            found[-1] += together
        else:
            found.append(together)
    return found
