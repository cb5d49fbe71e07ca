"""Annotations of the compiler or device that computes a value; they are identities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from parpass.errors import IRTypeError
from parpass.errors.core import did_you_mean
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op.declaration.build import operator
from parpass.relay.op.declaration.type_relations import identity, same_value
from parpass.runtime.devices import Device

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


def _device_type(device: object, what: str = "device") -> int:
    if isinstance(device, int):
        return device
    if isinstance(device, Device):
        return device.device_type
    if not isinstance(device, str):
        raise IRTypeError(
            f"expected a device, its name or a number for {what}, got {device!r:.40}"
        )
    if device not in _DEVICE_TYPES:
        raise IRTypeError(
            f"no device named '{device}'{did_you_mean(device, _DEVICE_TYPES)}"
        )
    return _DEVICE_TYPES[device]


DeviceType = Annotated[int, _device_type]


class OnDeviceAttrs(Attrs, frozen=True):
    """Attributes of `on_device`."""

    device_type: DeviceType
    is_fixed: bool = False


def _as_it_is(_attrs: Attrs, data: Array) -> Array:
    return data


@operator(
    "on_device",
    same_value,
    _as_it_is,
    OnDeviceAttrs,
    non_computational=True,
    moves=True,
)
def _on_device(data: Expr, device_type: int, is_fixed: bool) -> Call:
    """Build the call."""
    ...


def on_device(data: Expr, device: str | int | Device, is_fixed: bool = False) -> Call:
    """Annotate the device of a value: a device, its name, or TVM's number.

    Args:
        data: The value.
        device: The device, of which only the kind is used.
        is_fixed: Whether the users of the value have to be on that device too.
    """
    return _on_device(data, _device_type(device), is_fixed)


def function_on_device(
    function: Function,
    param_devices: Sequence[str | int | Device],
    result_device: str | int | Device,
) -> Function:
    """Return a function that is annotated with the devices of parameters and result.

    Args:
        function: The function.
        param_devices: The device of each parameter, as of `on_device`.
        result_device: The device of the result.

    Raises:
        IRTypeError: There are more devices than parameters, or fewer, or one has an
            unknown name.
    """
    if len(param_devices) != len(function.params):
        raise IRTypeError(
            f"expected {len(function.params)} devices, one for each parameter, "
            f"got {len(param_devices)}"
        )
    devices = tuple(map(_device_type, param_devices))
    with_params = function.with_attr("param_device_types", devices)
    return with_params.with_attr("result_device_type", _device_type(result_device))


class DeviceCopyAttrs(Attrs, frozen=True):
    """Attributes of `device_copy`."""

    src_dev_type: DeviceType
    dst_dev_type: DeviceType


@operator("device_copy", identity, _as_it_is, DeviceCopyAttrs, moves=True)
def _device_copy(data: Expr, src_dev_type: str | int, dst_dev_type: str | int) -> Call:
    """Build the call."""
    ...


def device_copy(data: Expr, src_device: str | int, dst_device: str | int) -> Call:
    """Copy a value from one device to another."""
    return _device_copy(data, src_device, dst_device)


@operator("annotation.stop_fusion", same_value, _as_it_is, moves=True)
def stop_fusion(data: Expr) -> Call:
    """Keep FuseOps from fusing the computation of a value with its users."""
    ...


@operator("annotation.checkpoint", same_value, _as_it_is, moves=True)
def checkpoint(data: Expr) -> Call:
    """Let gradients recompute a value instead of keeping its operands."""
    ...
