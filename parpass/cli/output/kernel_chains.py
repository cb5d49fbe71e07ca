"""Kernels of a map of `parpass build --emit-map`: as text, and for a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parpass.report.html.document import Chain

Kernel = Mapping[str, Any]


def code_text(kernel: Kernel) -> str:
    """Return the place of a kernel's machine code."""
    if kernel["symbol"] is None:
        return "computed by numpy"
    if kernel["offset"] is None:
        return f"{kernel['symbol']}, an object of the library"
    return f"{kernel['symbol']}, {kernel['size']:,} bytes at {kernel['offset']:#x}"


def outline(kernel: Kernel) -> Iterator[str]:
    """Yield the loops of a kernel as indented lines."""
    if kernel["symbol"] is None:
        return
    if kernel["loops"] is None:
        yield "too many loops to show"
        return
    if not kernel["loops"]:
        yield "no loops"
    lines = ["  " * loop["depth"] + _loop_text(loop) for loop in kernel["loops"]]
    depths = [loop["depth"] for loop in kernel["loops"]]
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and lines[end] == lines[at]:
            end += 1
        # The last of equal ones may have loops in it, which the others have not.
        if end < len(lines) and depths[end] > depths[at]:
            end = max(end - 1, at + 1)
        alike = end - at
        yield lines[at] + (f" ({alike} such loops)" if alike > 1 else "")
        at = end


def _loop_text(loop: Mapping[str, Any]) -> str:
    extent, kind = loop["extent"], loop["kind"]
    if kind == "while":
        head = f"while {extent}"
    else:
        head = f"for {loop['variable']}: {extent} {'time' if extent == 1 else 'times'}"
    told = [head]
    if kind not in ("serial", "while"):
        told.append(kind)
    if loop["writes"]:
        told.append(f"writes {' and '.join(loop['writes'])}")
    return ", ".join(told)


def shown_line(said: Mapping[str, Any], source: str, line: int) -> tuple[str, str]:
    """Return a place in a source, and the text of its line; empty if unknown."""
    lines = said["sources"].get(source, ())
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return f"{source}:{line}", text


def chains_of(said: Mapping[str, Any]) -> list[Chain]:
    """Return the chain from source to kernel for each kernel of a map."""
    from parpass.report.html.document import Chain, ChainCall, ChainPart

    def part(one: Mapping[str, Any]) -> ChainPart:
        span = one["span"]
        place, text = "", ""
        if span is not None:
            place, text = shown_line(said, span["source"], span["line"])
        return ChainPart(one["operator"], place, text)

    return [
        Chain(
            function=kernel["function"],
            symbol=kernel["symbol"] or "",
            code=code_text(kernel),
            outline=[*outline(kernel)],
            text=kernel["text"] or "",
            calls=[
                ChainCall(call["call"], [*map(part, call["operators"])])
                for call in kernel["calls"]
            ],
        )
        for kernel in said["kernels"]
    ]
