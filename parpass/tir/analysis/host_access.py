"""Verification that the processor does not access memory of other devices."""

from __future__ import annotations

from typing import Any

from parpass.errors import IRError
from parpass.ir.node import Node, children
from parpass.ir.op_table import Op
from parpass.tir.expr import Call, Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.packed_abi import CallingConv
from parpass.tir.stmt import AttrStmt, LetStmt, Store

_ELSEWHERE = {
    *("aocl", "cuda", "metal", "nvptx", "opencl", "opengl", "rocm", "sdaccel"),
    *("vulkan", "webgpu"),
}  # the kinds of targets whose memory the processor does not reach
_THREADS = ("thread_extent", "pipeline_exec_scope")


def verify_memory(func: PrimFunc) -> bool:
    """Return whether memory on a device is accessed by threads there alone.

    The attribute `target` of the function names the device of its memory. On the
    processor the result is always True; programs of this IR are not compiled for
    others, but authors of passes for such can check them.

    Raises:
        IRError: The function has no target.
    """
    return not memory_faults(func)


def memory_faults(func: PrimFunc) -> list[str]:
    """Return which parameters' memory is accessed outside of threads, in words.

    Raises:
        IRError: The function has no target.
    """
    attrs = func.attributes
    if "target" not in attrs:
        raise IRError(
            f"VerifyMemory: Require the target attribute, got {sorted(attrs) or 'none'}"
            "; give it by func.with_attr('target', ...)"
        )
    kind = str(attrs["target"]).split(maxsplit=1)[:1]
    is_packed = attrs.get("calling_conv", CallingConv.DEFAULT) != CallingConv.DEFAULT
    if is_packed or not _ELSEWHERE.intersection(kind):
        return []
    given = {*func.params, *(buffer.data for buffer in func.buffer_map.values())}
    return [
        f"Variable `{var.name}` is directly accessed by host memory (it is not "
        "contained in a thread environment or in the function arguments."
        for var in _accessed(func, given)
    ]


def _accessed(func: PrimFunc, given: set[Any]) -> list[Var]:
    """Return the pointers that are accessed outside of threads, of those given."""
    found: dict[Var, None] = {}
    seen: set[Node] = set()
    stack: list[Any] = [func.body]
    while stack:
        node = stack.pop()
        if node in seen or (isinstance(node, AttrStmt) and node.attr_key in _THREADS):
            continue
        seen.add(node)
        if isinstance(node, LetStmt) and _is_part(node.value, given):
            given = {*given, node.var}
        if isinstance(node, Load | Store) and node.buffer_var in given:
            found[node.buffer_var] = None
        stack += reversed(children(node))
    return list(found)


def _is_part(value: Any, given: set[Any]) -> bool:
    """Return whether a value is a part of a structure that is given."""
    is_get = isinstance(value, Call) and value.op is Op.get("tir.tvm_struct_get")
    return is_get and value.args[0] in given
