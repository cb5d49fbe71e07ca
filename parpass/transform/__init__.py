"""Passes, pipelines, pass contexts and module adapters; TVM's `tvm.transform`."""

from parpass.source import Source
from parpass.transform.adapter import ModuleAdapter, ProgramSlice
from parpass.transform.adapter_registry import (
    adapter_of,
    register_adapter,
    register_wrapping,
)
from parpass.transform.analysis import analysis
from parpass.transform.codecs import (
    BatchCodec,
    BlobSink,
    LargeValue,
    StoreCodec,
)
from parpass.transform.config import (
    Optimizations,
    list_config_options,
    register_config_option,
)
from parpass.transform.context import PassContext
from parpass.transform.decorators import function_pass, module_pass
from parpass.transform.mutability import Mutability
from parpass.transform.pass_info import PassInfo
from parpass.transform.pass_registry import (
    PrintIR,
    create_pass,
    pass_keys,
    register_pass,
    registered_passes,
)
from parpass.transform.passes import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    Pass,
    Sequential,
    set_call_driver,
)
from parpass.transform.pipeline import as_pass, parse_pipeline, print_pipeline
from parpass.transform.plan.invoke import owns
from parpass.transform.plan.serial import run_serial
from parpass.transform.program_format import (
    ProgramFormat,
    ReductionPattern,
    register_programs,
    registered_programs,
)

__all__ = [
    "BatchCodec",
    "BlobSink",
    "FunctionPass",
    "FunctionwisePass",
    "LargeValue",
    "ModuleAdapter",
    "ModulePass",
    "Mutability",
    "Optimizations",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "ProgramFormat",
    "ProgramSlice",
    "ReductionPattern",
    "Sequential",
    "Source",
    "StoreCodec",
    "adapter_of",
    "analysis",
    "as_pass",
    "create_pass",
    "function_pass",
    "list_config_options",
    "module_pass",
    "owns",
    "parse_pipeline",
    "pass_keys",
    "print_pipeline",
    "register_adapter",
    "register_config_option",
    "register_pass",
    "register_programs",
    "register_wrapping",
    "registered_passes",
    "registered_programs",
]

set_call_driver(run_serial)
