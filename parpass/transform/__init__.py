"""What a pass is, and under which settings it runs; TVM's `tvm.transform`."""

from parpass.runtime.source import Source
from parpass.transform.adapter import EncodesRuns, Excerpt, ModuleAdapter, Mutability
from parpass.transform.adapters import adapter_of, register_adapter, register_wrapping
from parpass.transform.config import list_config_options, register_config_option
from parpass.transform.context import PassContext
from parpass.transform.decorators import function_pass, module_pass
from parpass.transform.factories import (
    create_pass,
    register_pass,
    registered_passes,
)
from parpass.transform.handing_over import is_handed_over
from parpass.transform.info import PassInfo
from parpass.transform.optimizations import Optimizations
from parpass.transform.outside import KeepOutside, LargeValue
from parpass.transform.passes import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    Pass,
    Sequential,
    run_calls_by,
)
from parpass.transform.pipeline import as_pass, parse_pipeline, print_pipeline
from parpass.transform.plan.serial import run_serial
from parpass.transform.print_ir import PrintIR
from parpass.transform.textual import (
    Textual,
    Way,
    register_programs,
    registered_programs,
)

__all__ = [
    "EncodesRuns",
    "Excerpt",
    "FunctionPass",
    "FunctionwisePass",
    "KeepOutside",
    "LargeValue",
    "ModuleAdapter",
    "ModulePass",
    "Mutability",
    "Optimizations",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "Source",
    "Textual",
    "Way",
    "adapter_of",
    "as_pass",
    "create_pass",
    "function_pass",
    "is_handed_over",
    "list_config_options",
    "module_pass",
    "parse_pipeline",
    "print_pipeline",
    "register_adapter",
    "register_config_option",
    "register_pass",
    "register_programs",
    "register_wrapping",
    "registered_passes",
    "registered_programs",
]

run_calls_by(run_serial)
