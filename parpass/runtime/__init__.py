"""TVM's runtime system: what compiled programs are called by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.runtime import container, graph_executor
    from parpass.runtime.compiled_module import Module, load_module
    from parpass.runtime.devices import Device, cpu, device
    from parpass.runtime.dlpack_type import DataType, DataTypeCode
    from parpass.runtime.ndarray import NDArray
    from parpass.runtime.params import load_param_dict, save_param_dict
    from parpass.runtime.registry import PackedFunc, convert

__all__ = [
    "DataType",
    "DataTypeCode",
    "Device",
    "Module",
    "NDArray",
    "PackedFunc",
    "container",
    "convert",
    "cpu",
    "device",
    "graph_executor",
    "load_module",
    "load_param_dict",
    "save_param_dict",
]

_HOME = {
    "DataType": "parpass.runtime.dlpack_type",
    "DataTypeCode": "parpass.runtime.dlpack_type",
    "Device": "parpass.runtime.devices",
    "Module": "parpass.runtime.compiled_module",
    "NDArray": "parpass.runtime.ndarray",
    "PackedFunc": "parpass.runtime.registry",
    "convert": "parpass.runtime.registry",
    "cpu": "parpass.runtime.devices",
    "device": "parpass.runtime.devices",
    "load_module": "parpass.runtime.compiled_module",
    "load_param_dict": "parpass.runtime.params",
    "save_param_dict": "parpass.runtime.params",
}

_ROOMS = {
    "container": "parpass.runtime.container",
    "graph_executor": "parpass.runtime.graph_executor",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME, rooms=_ROOMS)
