"""The origin of kernels: from a line of the source to machine code, and back.

`KernelMap` follows a build: it gets the network with its operators fused, the same
with fused functions under names, and the library. Spans that passes keep lead from one
to the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from parpass.diagnostic import Span
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Function, GlobalVar
from parpass.runtime.library_file import LibraryImage
from parpass.target.elf_symbols import exported_functions

FORMAT = 1  # of the file; another number is refused
_LONGEST_LINE = 200  # characters of a line of a source
_NAMED = re.compile(r"  # (.+)$")  # how a listing of ONNX nodes has the name of one


class KernelMap:
    """The kernels of each line of a network's source, filled in while it is built."""

    def __init__(self) -> None:
        self._sources: dict[str, list[str]] = {}
        self._operators: list[list[dict[str, Any]]] = []  # of each call of a kernel
        self._kernels: list[str] = []  # that each call calls

    def add_fused(self, mod: IRModule) -> None:
        """Take the operators of each primitive function that `main` calls, in order."""
        self._sources = {
            name: [line[:_LONGEST_LINE] for line in text.splitlines()]
            for name, text in mod.sources.items()
        }
        main = mod["main"]
        self._operators = [
            [*_operators(call.op)]
            for call in post_order(main)
            if isinstance(call, Call)
            and isinstance(call.op, Function)
            and call.op.has_nonzero_attr("Primitive")
        ]

    def add_lifted(self, mod: IRModule) -> None:
        """Take which function of the module each of these calls calls now."""
        self._kernels = [
            call.op.name_hint
            for call in post_order(mod["main"])
            if isinstance(call, Call) and isinstance(call.op, GlobalVar)
        ]

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
        for number, (kernel, operators) in enumerate(pairs):
            calls.setdefault(kernel, []).append(
                {"call": number, "operators": operators}
            )
        kernels = [
            {"function": name, **_code(name, manifest.functions, places), "calls": made}
            for name, made in calls.items()
        ]
        return {
            "format": FORMAT,
            "target": manifest.target,
            "sources": self._sources,
            "kernels": kernels,
        }


def _code(
    name: str, functions: Mapping[str, Any], places: Mapping[str, tuple[int, int]]
) -> dict[str, Any]:
    """Return symbol, offset and size of a kernel; None for what is not known."""
    if name not in functions:
        return {"symbol": None, "offset": None, "size": None}
    symbol = functions[name].symbol
    offset, size = places.get(symbol, (None, None))
    return {"symbol": symbol, "offset": offset, "size": size}


def _operators(function: Function) -> Iterator[dict[str, Any]]:
    for node in post_order(function.body):
        if isinstance(node, Call) and isinstance(node.op, Op):
            yield {"operator": node.op.name, "span": _place(node.span)}


def _place(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {"source": span.source_name, "line": span.line, "column": span.column}


def name_of(line: str) -> str:
    """Return the name of the ONNX node that a line of a listing is of, if it is one."""
    found = _NAMED.search(line)
    return found[1] if found else ""
