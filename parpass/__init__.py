"""parpass: a pass manager for compilers written in Python that uses every core.

The names below are those of a first day; the rest is in the rooms `transform`,
`instrument`, `runner`, `relay`, `te`, `target`, `tir`, `ir`, `runtime` and `errors`.
All of them load when they are first used, so that importing parpass costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names
from parpass.ir.declared import declare_ir

if TYPE_CHECKING:
    from parpass import (
        contrib,
        errors,
        instrument,
        ir,
        relay,
        runner,
        runtime,
        target,
        te,
        testing,
        tir,
        transform,
    )
    from parpass import errors as error
    from parpass.errors import ParpassError, TVMError
    from parpass.instrument import PassInstrument, pass_instrument
    from parpass.ir.module import IRModule
    from parpass.ir.relay_expr import GlobalVar
    from parpass.ir.serialization import load_json, save_json
    from parpass.ir.structure.structural import (
        assert_structural_equal,
        structural_equal,
        structural_hash,
    )
    from parpass.relay.tvm_names import parser
    from parpass.runner import open_runner, propagate, run_pipeline, run_pipeline_sync
    from parpass.runtime import ndarray as nd
    from parpass.runtime.devices import cpu, device
    from parpass.runtime.dlpack_type import DataType, DataTypeCode
    from parpass.runtime.registry import (
        PackedFunc,
        convert,
        get_global_func,
        list_global_func_names,
        register_func,
        remove_global_func,
    )
    from parpass.target.build_library import build
    from parpass.tir import arith
    from parpass.transform import (
        FunctionPass,
        ModulePass,
        Pass,
        PassContext,
        PassInfo,
        Sequential,
        function_pass,
        module_pass,
    )

declare_ir("parpass.relay.op")
declare_ir("parpass.tir", prefix="tir.")

__version__ = "0.1.0"

__all__ = [
    "DataType",
    "DataTypeCode",
    "FunctionPass",
    "GlobalVar",
    "IRModule",
    "ModulePass",
    "PackedFunc",
    "ParpassError",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "Sequential",
    "TVMError",
    "arith",
    "assert_structural_equal",
    "build",
    "contrib",
    "convert",
    "cpu",
    "device",
    "error",
    "errors",
    "function_pass",
    "get_global_func",
    "instrument",
    "ir",
    "list_global_func_names",
    "load_json",
    "module_pass",
    "nd",
    "open_runner",
    "parser",
    "pass_instrument",
    "propagate",
    "register_func",
    "relay",
    "remove_global_func",
    "run_pipeline",
    "run_pipeline_sync",
    "runner",
    "runtime",
    "save_json",
    "structural_equal",
    "structural_hash",
    "target",
    "te",
    "testing",
    "tir",
    "transform",
]

_ROOMS = {
    **{
        name: f"parpass.{name}"
        for name in (
            *(
                "contrib",
                "errors",
                "instrument",
                "ir",
                "relay",
                "runner",
                "runtime",
                "testing",
            ),
            *("target", "te", "tir", "transform"),
        )
    },
    "arith": "parpass.tir.arith",
    "error": "parpass.errors",
    "nd": "parpass.runtime.ndarray",
    "parser": "parpass.relay.tvm_names.parser",
}

# The registry's names come by way of `ir`, which makes the shipped passes known.
_HOME = {
    "ParpassError": "parpass.errors",
    "TVMError": "parpass.errors",
    "build": "parpass.target",
    "PassInstrument": "parpass.instrument",
    "pass_instrument": "parpass.instrument",
    "DataType": "parpass.runtime",
    "DataTypeCode": "parpass.runtime",
    "PackedFunc": "parpass.ir",
    "convert": "parpass.ir",
    "cpu": "parpass.runtime",
    "device": "parpass.runtime",
    "get_global_func": "parpass.ir",
    "list_global_func_names": "parpass.ir",
    "register_func": "parpass.ir",
    "remove_global_func": "parpass.ir",
    "GlobalVar": "parpass.ir",
    "IRModule": "parpass.ir",
    "load_json": "parpass.ir",
    "save_json": "parpass.ir",
    "assert_structural_equal": "parpass.ir",
    "structural_equal": "parpass.ir",
    "structural_hash": "parpass.ir",
    "open_runner": "parpass.runner",
    "propagate": "parpass.runner",
    "run_pipeline": "parpass.runner",
    "run_pipeline_sync": "parpass.runner",
}

__getattr__, __dir__ = lazy_names(
    __name__,
    {name: _HOME.get(name, "parpass.transform") for name in __all__},
    rooms=_ROOMS,
)
