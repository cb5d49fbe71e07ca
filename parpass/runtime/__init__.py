"""TVM's runtime system, which runs compiled programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy, defining_modules
from parpass.tvm_paths import attach_tvm_paths

if TYPE_CHECKING:
    from parpass.function_registry import PackedFunc, convert
    from parpass.runtime import container, graph_executor
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
    "container",
    "convert",
    "cpu",
    "device",
    "graph_executor",
    "load_module",
    "load_param_dict",
    "save_param_dict",
]

_DEFINING_MODULES = defining_modules(
    {
        "runtime.dtypes": "DataType DataTypeCode",
        "runtime.devices": "Device cpu device",
        "runtime.compiled_module": "Module load_module",
        "runtime.ndarray": "NDArray",
        "function_registry": "PackedFunc convert",
        "runtime.params": "load_param_dict save_param_dict",
    }
)

_SUBMODULES = {
    name: f"parpass.runtime.{name}" for name in ("container", "graph_executor")
}

__getattr__, __dir__ = attach_lazy(__name__, _DEFINING_MODULES, submodules=_SUBMODULES)

attach_tvm_paths(__name__)
