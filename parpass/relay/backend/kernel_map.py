"""The origin of kernels: from a line of the source to machine code, and back.

`KernelMap` follows a build: it gets the network with its operators fused, the same
with fused functions under names, and the library. Spans that passes keep lead from one
to the other. The loops of a kernel are those of its lowering, which is done once more
for the map: a build takes kernels that it knows from disk, without any loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from parpass.diagnostic import Span
from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.expr import Call, Function, GlobalVar
from parpass.relay.type_inference.infer import typed_function
from parpass.runtime.library_file import LibraryImage
from parpass.target.elf_symbols import exported_functions
from parpass.target.target import Target
from parpass.tir.analysis.loop_nest import loop_nest
from parpass.tir.function import PrimFunc
from parpass.tir.text.function_printer import loop_text

FORMAT = 2  # of the file; another number is refused
_LONGEST_LINE = 200  # characters of a line of a source
_LONGEST_TEXT = 100_000  # characters of the text of a kernel's loops
_MOST_LOOPS = 1_000  # of a kernel


class KernelMap:
    """The kernels of each line of a network's source, filled in while it is built."""

    def __init__(self) -> None:
        self._sources: dict[str, list[str]] = {}
        self._operators: list[list[dict[str, Any]]] = []  # of each call of a kernel
        self._kernels: list[str] = []  # that each call calls
        self._lifted = IRModule()

    def add_fused(self, mod: IRModule) -> None:
        """Take the operators of each kernel that `main` calls, in order."""
        self._sources = {
            name: [line[:_LONGEST_LINE] for line in text.splitlines()]
            for name, text in mod.sources.items()
        }
        self._operators = [[*_operators(call, mod)] for call in _calls(mod)]

    def add_lifted(self, mod: IRModule) -> None:
        """Take which function of the module each of these calls calls now."""
        self._lifted = mod
        self._kernels = [_name(call) for call in _calls(mod)]

    def exported(self, image: LibraryImage) -> dict[str, Any]:
        """Return the map as JSON has it.

        Args:
            image: The library.
        """
        manifest = image.manifest
        is_shared = manifest.format == "so"
        places = exported_functions(image.code) if is_shared else {}
        calls: dict[str, list[dict[str, Any]]] = {}
        pairs = zip(self._kernels, self._operators, strict=True)
        for number, (name, operators) in enumerate(pairs):
            calls.setdefault(name, []).append({"call": number, "operators": operators})
        target = Target(manifest.target)
        kernels: list[dict[str, Any]] = []
        for name, made in calls.items():
            code = _code(name, manifest.functions, places)
            loops = self._loops(name, code["symbol"], target)
            kernels.append({"function": name, **code, **loops, "calls": made})
        return {
            "format": FORMAT,
            "target": manifest.target,
            "sources": self._sources,
            "kernels": kernels,
        }

    def _loops(self, name: str, symbol: str | None, target: Target) -> dict[str, Any]:
        """Return the loops of a kernel, and their text; None for what is not known."""
        if symbol is None:
            return {"loops": None, "text": None}
        function = self._lifted[name]
        if not isinstance(function, PrimFunc):
            typed = typed_function(function, self._lifted)
            function = kernel(typed, symbol, target)
        try:
            loops, text = loop_nest(function), loop_text(function, symbol)
        except SizeLimitError:
            return {"loops": None, "text": None}
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}\n... (cut, of {len(text):,} characters)\n"
        shown = [loop._asdict() for loop in loops[:_MOST_LOOPS]]
        return {"loops": shown, "text": text}


def _calls(mod: IRModule) -> Iterator[Call]:
    """Yield the calls of kernels in `main`: of fused functions, and of named ones."""
    for node in post_order(mod["main"]):
        if not isinstance(node, Call):
            continue
        is_fused = isinstance(node.op, Function) and node.op.has_nonzero_attr(
            "Primitive"
        )
        if is_fused or isinstance(node.op, GlobalVar):
            yield node


def _name(call: Call) -> str:
    """Return the name of the kernel that is called; a closure has none."""
    return call.op.name_hint if isinstance(call.op, GlobalVar) else ""


def _code(
    name: str, functions: Mapping[str, Any], places: Mapping[str, tuple[int, int]]
) -> dict[str, Any]:
    """Return symbol, offset and size of a kernel; None for what is not known."""
    if name not in functions:
        return {"symbol": None, "offset": None, "size": None}
    symbol = functions[name].symbol
    offset, size = places.get(symbol, (None, None))
    return {"symbol": symbol, "offset": offset, "size": size}


def _operators(call: Call, mod: IRModule) -> Iterator[dict[str, Any]]:
    """Yield the operators of a kernel that is called; of loops the call stands."""
    function = mod[call.op] if isinstance(call.op, GlobalVar) else call.op
    if not isinstance(function, Function):
        yield {"operator": _name(call), "span": _place(call.span)}
        return
    for node in post_order(function.body):
        if isinstance(node, Call) and isinstance(node.op, Op):
            yield {"operator": node.op.name, "span": _place(node.span)}


def _place(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {"source": span.source_name, "line": span.line, "column": span.column}
