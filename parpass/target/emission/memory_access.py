"""Loads and stores: of neighbours at once, of other lanes each for itself.

Of every second element up to every fourth one, whole vectors are loaded, and shuffled.
"""

from __future__ import annotations

from typing import NamedTuple

from parpass.runtime.dtypes import name_of
from parpass.target.emission.binary_operators import converted
from parpass.target.emission.function_writer import (
    FunctionWriter,
    constant,
    element_bytes,
    llvm_type,
    mangled,
    memory_type,
)
from parpass.tir.data_type import data_type
from parpass.tir.expr import IntImm, PrimExpr, Ramp


class Access(NamedTuple):
    """The address of the elements that an instruction accesses.

    Attributes:
        pointer: The pointer to the memory.
        at: The number of the first element, or of each lane's.
        index_dtype: The dtype of `at`.
        mask: The lanes for which there is an access; None for all.
        stride: How far lanes are from each other, if `at` is the first element.
    """

    pointer: str
    at: str
    index_dtype: str
    mask: str | None = None
    stride: int = 1


def steps_of(index: PrimExpr, longest: int = 1) -> tuple[PrimExpr, int] | None:
    """Return the first of indices in equal steps, and how long these are.

    None if they are none, or longer than that.
    """
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm):
        stride = index.stride.value
        return (index.base, stride) if 1 <= stride <= longest else None
    return None


def stored_dtype(dtype: str) -> str:
    """Return the dtype of the bytes that values are in memory: those of bools are."""
    found = data_type(dtype)
    return name_of("uint", 8, found.lanes) if found.code == "bool" else dtype


def load(writer: FunctionWriter, dtype: str, place: Access) -> str:
    """Return what is in memory; 0 where there is no access."""
    stored = stored_dtype(dtype)
    if data_type(place.index_dtype).lanes > 1:
        found = _gathered(writer, stored, place)
    elif place.stride > 1:
        found = _every_other(writer, stored, place)
    elif place.mask is None:
        found = _plain_load(writer, stored, place)
    elif data_type(dtype).lanes > 1:
        found = _masked_load(writer, stored, place)
    else:
        found = _perhaps_loaded(writer, stored, place, place.mask)
    return converted(writer, found, stored, dtype)


def store(writer: FunctionWriter, dtype: str, value: str, place: Access) -> None:
    """Put a value in memory."""
    stored = stored_dtype(dtype)
    value = converted(writer, value, dtype, stored)
    if data_type(place.index_dtype).lanes > 1:
        _scattered(writer, stored, value, place)
    elif place.mask is None:
        _plain_store(writer, stored, value, place)
    elif data_type(dtype).lanes > 1:
        _masked_store(writer, stored, value, place)
    else:
        yes, end = writer.new_label("store"), writer.new_label("end")
        writer.branch(place.mask, yes, end)
        writer.begin(yes)
        _plain_store(writer, stored, value, place)
        writer.jump(end)
        writer.begin(end)


def address(writer: FunctionWriter, dtype: str, place: Access) -> str:
    """Return a pointer to the element, or a vector of pointers, one for each lane."""
    wide = name_of("int", 64, data_type(place.index_dtype).lanes)
    index = converted(writer, place.at, place.index_dtype, wide)
    element = memory_type(data_type(dtype).element)
    return writer.value(
        f"getelementptr {element}, ptr {place.pointer}, {llvm_type(wide)} {index}"
    )


def _plain_load(writer: FunctionWriter, dtype: str, place: Access) -> str:
    pointer = address(writer, dtype, place)
    return writer.value(
        f"load {llvm_type(dtype)}, ptr {pointer}, align {element_bytes(dtype)}"
    )


def _every_other(writer: FunctionWriter, dtype: str, place: Access) -> str:
    """Return lanes some steps apart, of vectors that do not reach behind the last."""
    lanes, stride = data_type(dtype).lanes, place.stride
    pointer, align = address(writer, dtype, place), element_bytes(dtype)
    kind, one = llvm_type(dtype), memory_type(data_type(dtype).element)
    found, places = "", [0] * lanes
    for part in range(stride):
        begin = min(part * lanes, (lanes - 1) * (stride - 1))
        at = writer.value(f"getelementptr {one}, ptr {pointer}, i64 {begin}")
        some = writer.value(f"load {kind}, ptr {at}, align {align}")
        here = [lane * stride - begin for lane in range(lanes)]
        if not part:
            found, places = some, [min(at, lanes - 1) for at in here]
            continue
        chosen = zip(here, places, strict=True)
        both = [lanes + at if 0 <= at < lanes else old for at, old in chosen]
        found, places = writer.shuffled([found, some], dtype, both), [*range(lanes)]
    return found


def _plain_store(writer: FunctionWriter, dtype: str, value: str, place: Access) -> None:
    pointer = address(writer, dtype, place)
    writer.do(
        f"store {llvm_type(dtype)} {value}, ptr {pointer}, align {element_bytes(dtype)}"
    )


def _perhaps_loaded(
    writer: FunctionWriter, dtype: str, place: Access, mask: str
) -> str:
    before = writer.block
    yes, end = writer.new_label("load"), writer.new_label("end")
    writer.branch(mask, yes, end)
    writer.begin(yes)
    found = _plain_load(writer, dtype, place)
    writer.jump(end)
    writer.begin(end)
    return writer.phi(dtype, (found, yes), (constant(0, dtype), before))


def _mask(place: Access, lanes: int) -> tuple[str, str]:
    return f"<{lanes} x i1>", place.mask or "splat (i1 true)"


def _masked_load(writer: FunctionWriter, dtype: str, place: Access) -> str:
    kind, lanes = llvm_type(dtype), data_type(dtype).lanes
    pointer = ("ptr", address(writer, dtype, place))
    align, nothing = ("i32", str(element_bytes(dtype))), (kind, "zeroinitializer")
    name = f"llvm.masked.load.{mangled(dtype)}.p0"
    return writer.call(name, kind, pointer, align, _mask(place, lanes), nothing)


def _masked_store(
    writer: FunctionWriter, dtype: str, value: str, place: Access
) -> None:
    lanes, align = data_type(dtype).lanes, ("i32", str(element_bytes(dtype)))
    pointer = ("ptr", address(writer, dtype, place))
    name, given = f"llvm.masked.store.{mangled(dtype)}.p0", (llvm_type(dtype), value)
    writer.call(name, "void", given, pointer, align, _mask(place, lanes))


def _gathered(writer: FunctionWriter, dtype: str, place: Access) -> str:
    kind, lanes = llvm_type(dtype), data_type(dtype).lanes
    pointers = (f"<{lanes} x ptr>", address(writer, dtype, place))
    align, nothing = ("i32", str(element_bytes(dtype))), (kind, "zeroinitializer")
    name = f"llvm.masked.gather.{mangled(dtype)}.v{lanes}p0"
    return writer.call(name, kind, pointers, align, _mask(place, lanes), nothing)


def _scattered(writer: FunctionWriter, dtype: str, value: str, place: Access) -> None:
    lanes, align = data_type(dtype).lanes, ("i32", str(element_bytes(dtype)))
    pointers = (f"<{lanes} x ptr>", address(writer, dtype, place))
    name = f"llvm.masked.scatter.{mangled(dtype)}.v{lanes}p0"
    given = (llvm_type(dtype), value)
    writer.call(name, "void", given, pointers, align, _mask(place, lanes))
