"""Operators that say who computes a value and where; they compute the identity."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from parpass.errors import IRTypeError, did_you_mean
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, register_op
from parpass.relay.expr import Call, Expr
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import identity, same_value

Array = npt.NDArray[Any]

# TVM's numbers of device types.
_DEVICE_TYPES = {
    "cpu": 1,
    "llvm": 1,
    "cuda": 2,
    "gpu": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "rocm": 10,
    "hexagon": 14,
    "webgpu": 15,
}


def _device_type(device: str | int) -> int:
    if isinstance(device, int):
        return device
    if device not in _DEVICE_TYPES:
        raise IRTypeError(
            f"no device named '{device}'{did_you_mean(device, _DEVICE_TYPES)}"
        )
    return _DEVICE_TYPES[device]


class OnDeviceAttrs(Attrs, frozen=True):
    """Attributes of `on_device`."""

    device_type: int
    is_fixed: bool = False


def _as_it_is(_attrs: Attrs, data: Array) -> Array:
    return data


_ON_DEVICE = register_op(
    Op(
        "on_device",
        1,
        same_value,
        _as_it_is,
        OnDeviceAttrs,
        non_computational=True,
        moves=True,
    )
)


def on_device(data: Expr, device: str | int, is_fixed: bool = False) -> Call:
    """Say that a value is to be computed on a device, a name or TVM's number."""
    attrs = OnDeviceAttrs(device_type=_device_type(device), is_fixed=is_fixed)
    return call_op(_ON_DEVICE, (data,), attrs)


class DeviceCopyAttrs(Attrs, frozen=True):
    """Attributes of `device_copy`."""

    src_dev_type: int
    dst_dev_type: int


_DEVICE_COPY = register_op(
    Op("device_copy", 1, identity, _as_it_is, DeviceCopyAttrs, moves=True)
)


def device_copy(data: Expr, src_device: str | int, dst_device: str | int) -> Call:
    """Copy a value from one device to another."""
    attrs = DeviceCopyAttrs(
        src_dev_type=_device_type(src_device), dst_dev_type=_device_type(dst_device)
    )
    return call_op(_DEVICE_COPY, (data,), attrs)


_STOP_FUSION = register_op(
    Op("annotation.stop_fusion", 1, same_value, _as_it_is, moves=True)
)


def stop_fusion(data: Expr) -> Call:
    """Keep FuseOps from fusing what computes a value with what uses it."""
    return call_op(_STOP_FUSION, (data,))


class CompilerAttrs(Attrs, frozen=True):
    """Attributes of `annotation.compiler_begin` and `annotation.compiler_end`."""

    compiler: str


_COMPILER_BEGIN = register_op(
    Op("annotation.compiler_begin", 1, same_value, _as_it_is, CompilerAttrs, moves=True)
)
_COMPILER_END = register_op(
    Op("annotation.compiler_end", 1, same_value, _as_it_is, CompilerAttrs, moves=True)
)


def compiler_begin(data: Expr, compiler: str) -> Call:
    """Mark a value that enters a region of the program, one compiler's."""
    return call_op(_COMPILER_BEGIN, (data,), CompilerAttrs(compiler=compiler))


def compiler_end(data: Expr, compiler: str) -> Call:
    """Mark a value that leaves a region of the program."""
    return call_op(_COMPILER_END, (data,), CompilerAttrs(compiler=compiler))
