"""The entry of a kernel: takes a frame, calls the kernel, then what is next.

See `parpass.runtime.signature` for frames. The next entry is called in the place of
this one (a tail call), so that a row of calls of any length takes no stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from parpass.runtime.signature import (
    NEXT_ENTRY,
    NEXT_FRAME,
    STATUS,
    VALUES,
    Signature,
)


def entry_function(signature: Signature, kinds: Sequence[str]) -> str:
    """Return the entry of a function in LLVM's text.

    Args:
        signature: The function.
        kinds: LLVM's types of the values that C passes.
    """
    values = [_loaded(kind, at) for at, kind in enumerate(kinds, VALUES)]
    passed = ", ".join(f"{kind} %v{at}" for at, kind in enumerate(kinds, VALUES))
    lines = [
        *(line for loads in values for line in loads),
        f"%status = call i32 @{signature.symbol}({passed})",
        "%good = icmp eq i32 %status, 0",
        "br i1 %good, label %on, label %fault",
        "fault:",
        f"%told = getelementptr i64, ptr %frame, i64 {STATUS}",
        "store i32 %status, ptr %told",
        "ret i32 %status",
        "on:",
        *_loaded("ptr", NEXT_ENTRY),
        f"%last = icmp eq ptr %v{NEXT_ENTRY}, null",
        "br i1 %last, label %end, label %next",
        "next:",
        *_loaded("ptr", NEXT_FRAME),
        f"%result = musttail call i32 %v{NEXT_ENTRY}(ptr %v{NEXT_FRAME})",
        "ret i32 %result",
        "end:",
        "ret i32 0",
    ]
    # Not optimised: LLVM would take time for what is some loads and a call.
    head = f"define i32 @{signature.entry}(ptr %frame) #0 noinline optnone {{"
    return "\n".join([head, *lines, "}", ""])


def _loaded(kind: str, at: int) -> list[str]:
    return [
        f"%a{at} = getelementptr i64, ptr %frame, i64 {at}",
        f"%v{at} = load {kind}, ptr %a{at}",
    ]
