"""What a pass is, and under which settings it runs; TVM's `tvm.transform`."""

from parpass.transform.adapter import ModuleAdapter, adapter_of, register_adapter
from parpass.transform.config import list_config_options, register_config_option
from parpass.transform.context import PassContext
from parpass.transform.decorators import function_pass, module_pass
from parpass.transform.info import PassInfo
from parpass.transform.optimizations import Optimizations
from parpass.transform.passes import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    Pass,
    Sequential,
)
from parpass.transform.pipeline import as_pass, parse_pipeline, print_pipeline
from parpass.transform.print_ir import PrintIR
from parpass.transform.registry import (
    create_pass,
    register_pass,
    registered_passes,
)

__all__ = [
    "FunctionPass",
    "FunctionwisePass",
    "ModuleAdapter",
    "ModulePass",
    "Optimizations",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "adapter_of",
    "as_pass",
    "create_pass",
    "function_pass",
    "list_config_options",
    "module_pass",
    "parse_pipeline",
    "print_pipeline",
    "register_adapter",
    "register_config_option",
    "register_pass",
    "registered_passes",
]
