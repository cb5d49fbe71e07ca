"""TVM's runtime system: what compiled programs are called by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.function_registry import PackedFunc, convert
    from parpass.runtime import graph_executor
    from parpass.runtime.compiled_module import Module, load_module
    from parpass.runtime.devices import Device, cpu, device
    from parpass.runtime.dtypes import DataType, DataTypeCode
    from parpass.runtime.ndarray import NDArray
    from parpass.runtime.params import load_param_dict, save_param_dict

__all__ = [
    "DataType",
    "DataTypeCode",
    "Device",
    "Module",
    "NDArray",
    "PackedFunc",
    "convert",
    "cpu",
    "device",
    "graph_executor",
    "load_module",
    "load_param_dict",
    "save_param_dict",
]

_HOME = {
    "DataType": "parpass.runtime.dtypes",
    "DataTypeCode": "parpass.runtime.dtypes",
    "Device": "parpass.runtime.devices",
    "Module": "parpass.runtime.compiled_module",
    "NDArray": "parpass.runtime.ndarray",
    "PackedFunc": "parpass.function_registry",
    "convert": "parpass.function_registry",
    "cpu": "parpass.runtime.devices",
    "device": "parpass.runtime.devices",
    "load_module": "parpass.runtime.compiled_module",
    "load_param_dict": "parpass.runtime.params",
    "save_param_dict": "parpass.runtime.params",
}

_ROOMS = {"graph_executor": "parpass.runtime.graph_executor"}

__getattr__, __dir__ = attach_lazy(__name__, _HOME, submodules=_ROOMS)
