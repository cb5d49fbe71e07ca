"""Loads, stores, and pointers to elements, as instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parpass.errors import EvaluationError
from parpass.tir.data_type import data_type
from parpass.tir.expr import Buffer, BufferLoad, Load, PrimExpr, is_true
from parpass.tir.interpreter.lane_arithmetic import typed
from parpass.tir.interpreter.machine import Item, apply, drop, step
from parpass.tir.interpreter.memory import Pointer
from parpass.tir.stmt import BufferStore, Store


def places(index: Any, dtype: str) -> Any:
    """Return the numbers of the elements that an index of a dtype stands for."""
    lanes = data_type(dtype).lanes
    if np.ndim(index) == 0 and lanes > 1:  # of memory whose elements are vectors
        return np.int64(index) * lanes + np.arange(lanes)
    return np.atleast_1d(index).astype(np.int64)


def pointer_to(value: Any) -> Pointer:
    """Return a value that has to be a pointer."""
    if not isinstance(value, Pointer):
        raise EvaluationError(f"expected a pointer to memory, got {value!r:.40}")
    return value


def load(node: Load) -> list[Item]:
    """Return what reads memory."""

    def read(pointer: Any, index: Any, predicate: Any = True) -> Any:
        at, found = places(index, node.dtype), typed(0, node.dtype)
        chosen = np.broadcast_to(predicate, at.shape)
        values = np.broadcast_to(found, at.shape).copy()
        values[chosen] = pointer_to(pointer).load(node.dtype, at[chosen])
        return typed(values if len(at) > 1 else values[0], node.dtype)

    known = [] if is_true(node.predicate) else [node.predicate]
    return [node.buffer_var, node.index, *known, apply(2 + len(known), read)]


def store(node: Store) -> list[Item]:
    """Return what writes memory."""
    dtype = node.value.dtype

    def write(value: Any, pointer: Any, index: Any, predicate: Any = True) -> None:
        at = places(index, dtype)
        chosen = np.broadcast_to(predicate, at.shape)
        values = np.broadcast_to(value, at.shape)
        pointer_to(pointer).store(dtype, at[chosen], values[chosen])

    known = [] if is_true(node.predicate) else [node.predicate]
    operands = [node.value, node.buffer_var, node.index, *known]
    return [step, *operands, apply(len(operands), write), drop]


def element(buffer: Buffer, indices: Sequence[PrimExpr]) -> list[Item]:
    """Return what puts a pointer, and the place of an element behind it."""
    rank = len(buffer.shape)

    def place(*values: Any) -> Any:
        at, shape = values[:rank], values[rank : 2 * rank]
        strides, offset = values[2 * rank : -1], values[-1]
        for dimension, (index, extent) in enumerate(zip(at, shape, strict=True)):
            if not 0 <= int(index) < int(extent):
                raise EvaluationError(
                    f"expected an index from 0 to below {int(extent)} in dimension "
                    f"{dimension} of buffer '{buffer.name}', got {int(index)}"
                )
        found = 0
        for index, extent in zip(at, shape, strict=True):
            found = found * int(extent) + int(index)
        if strides:
            found = sum(int(a) * int(b) for a, b in zip(at, strides, strict=True))
        return np.int64(found + int(offset))

    where = [*indices, *buffer.shape, *buffer.strides, buffer.elem_offset]
    return [buffer.data, *where, apply(len(where), place)]


def buffer_load(node: BufferLoad) -> list[Item]:
    """Return what reads an element of a buffer."""

    def read(pointer: Any, index: Any) -> Any:
        found = pointer_to(pointer).load(node.dtype, places(index, node.dtype))
        return typed(found if len(found) > 1 else found[0], node.dtype)

    return [*element(node.buffer, node.indices), apply(2, read)]


def buffer_store(node: BufferStore) -> list[Item]:
    """Return what writes an element of a buffer."""
    dtype = node.buffer.dtype

    def write(value: Any, pointer: Any, index: Any) -> None:
        pointer_to(pointer).store(dtype, places(index, dtype), value)

    where = element(node.buffer, node.indices)
    return [step, node.value, *where, apply(3, write), drop]
