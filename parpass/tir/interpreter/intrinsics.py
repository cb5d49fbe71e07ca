"""Calls of operators as instructions: those that are more than functions of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type
from parpass.tir.expr import BufferLoad, Call
from parpass.tir.interpreter.accesses import element, places, pointer_to
from parpass.tir.interpreter.lane_arithmetic import (
    intrinsic,
    multiplied_and_shifted,
    reinterpreted,
    typed,
)
from parpass.tir.interpreter.machine import (
    Item,
    Label,
    Machine,
    apply,
    jump,
    jump_unless,
    push,
)
from parpass.tir.interpreter.memory import Pointer


def call(node: Call) -> list[Item]:
    """Return what calls an operator."""
    name = node.op.name if isinstance(node.op, Op) else ""
    special = _CALLS.get(name.removeprefix("tir."))
    if special is not None:
        return special(node)
    if not isinstance(node.op, Op):
        raise EvaluationError(f"a call of {node.op} cannot be evaluated: it is global")
    op, count = node.op, len(node.args)

    def compute(*args: Any) -> Any:
        return intrinsic(op, list(args), node.dtype)

    return [*node.args, apply(count, compute)]


def _if_then_else(node: Call) -> list[Item]:
    otherwise, end = Label(), Label()
    condition, true, false = node.args
    return [
        *(condition, jump_unless(otherwise), true, jump(end)),
        *(otherwise, false, end),
    ]


def _ret(node: Call) -> list[Item]:
    return [node.args[0], lambda machine: machine.end(machine.stack.pop())]


def _computed(compute: Callable[..., Any]) -> Callable[[Call], list[Item]]:
    def expand(node: Call) -> list[Item]:
        def run(*args: Any) -> Any:
            return compute(node.dtype, *args)

        return [*node.args, apply(len(node.args), run)]

    return expand


def _access_ptr(node: Call) -> list[Item]:
    kind, data, offset = node.args[:3]

    def move(pointer: Any, by: Any) -> Any:
        return pointer_to(pointer).moved(kind.dtype, int(by))

    return [data, offset, apply(2, move)]


def _address_of(node: Call) -> list[Item]:
    load = node.args[0]

    def move(pointer: Any, index: Any) -> Any:
        at = places(index, load.dtype)
        return pointer_to(pointer).moved(data_type(load.dtype).element, int(at[0]))

    if isinstance(load, BufferLoad):
        return [*element(load.buffer, load.indices), apply(2, move)]
    return [load.buffer_var, load.index, apply(2, move)]


def _packed(node: Call) -> list[Item]:
    def run(machine: Machine) -> None:
        count = len(node.args)
        name, *args = machine.stack[len(machine.stack) - count :]
        del machine.stack[len(machine.stack) - count :]
        machine.stack.append(machine.call_packed(name, args, node.dtype))

    return [*node.args, run]


def _nothing(node: Call) -> list[Item]:
    return [push(None)]


def _halves(first: bool) -> Callable[..., Any]:
    def half(dtype: str, vector: Any) -> Any:
        middle = len(vector) // 2
        found: Any = vector[:middle] if first else vector[middle:]
        return typed(found if len(found) > 1 else found[0], dtype)

    return half


def _is_null(dtype: str, value: Any) -> Any:
    return typed(not isinstance(value, Pointer), dtype)


def _large_uint(dtype: str, low: Any, high: Any) -> Any:
    return typed(np.uint64(low) + (np.uint64(high) << np.uint64(32)), dtype)


def _multiplied_and_shifted(dtype: str, *args: Any) -> Any:
    return typed(multiplied_and_shifted(*args), dtype)


def _reinterpreted(dtype: str, value: Any) -> Any:
    return reinterpreted(value, dtype)


def _combined(dtype: str, *vectors: Any) -> Any:
    return typed(np.concatenate(vectors), dtype)


def _dot_pairs(dtype: str, a: Any, b: Any) -> Any:
    products = np.multiply(a, b, dtype=np.int32)
    return typed(products[::2] + products[1::2], dtype)


_CALLS: dict[str, Callable[[Call], list[Item]]] = {
    "address_of": _address_of,
    "dot_pairs": _computed(_dot_pairs),
    "if_then_else": _if_then_else,
    "isnullptr": _computed(_is_null),
    "large_uint_imm": _computed(_large_uint),
    "prefetch": _nothing,
    "q_multiply_shift": _computed(_multiplied_and_shifted),
    "reinterpret": _computed(_reinterpreted),
    "ret": _ret,
    "tvm_access_ptr": _access_ptr,
    "tvm_call_packed": _packed,
    "tvm_storage_sync": _nothing,
    "type_annotation": _nothing,
    "vectorcombine": _computed(_combined),
    "vectorhigh": _computed(_halves(first=False)),
    "vectorlow": _computed(_halves(first=True)),
}
