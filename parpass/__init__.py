"""parpass: a pass manager for compilers written in Python that uses every core.

This package exports the names that users of any IR need first, and TVM's names. The
rest is in the packages `transform`, `instrument`, `runner`, `relay`, `te`, `target`,
`tir`, `ir`, `runtime` and `errors`, and in `spi` for integrations. All names load on
first use, so importing parpass is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy, defining_modules
from parpass.tvm_paths import attach_tvm_paths

if TYPE_CHECKING:
    from parpass import (
        contrib,
        errors,
        instrument,
        ir,
        relay,
        runner,
        runtime,
        spi,
        target,
        te,
        testing,
        tir,
        transform,
    )
    from parpass import errors as error
    from parpass.errors import ParpassError, TVMError
    from parpass.function_registry import (
        PackedFunc,
        convert,
        get_global_func,
        list_global_func_names,
        register_func,
        remove_global_func,
    )
    from parpass.instrument import PassInstrument, pass_instrument
    from parpass.ir.global_var import GlobalVar
    from parpass.ir.module import IRModule
    from parpass.ir.serialization import load_json, save_json
    from parpass.ir.structural import (
        assert_structural_equal,
        structural_equal,
        structural_hash,
    )
    from parpass.relay.tvm_names import parser
    from parpass.runner import (
        Executor,
        FunctionCache,
        Runner,
        RunReport,
        freeze_support,
        open_runner,
        propagate,
        run_pipeline,
        run_pipeline_sync,
    )
    from parpass.runtime import ndarray as nd
    from parpass.runtime.devices import cpu, device
    from parpass.runtime.dtypes import DataType, DataTypeCode
    from parpass.target.build_library import build
    from parpass.tir import arith
    from parpass.transform import (
        FunctionPass,
        ModuleAdapter,
        ModulePass,
        Pass,
        PassContext,
        PassInfo,
        Sequential,
        create_pass,
        function_pass,
        module_pass,
        parse_pipeline,
        register_adapter,
        register_pass,
    )

__version__ = "0.2.0"

__all__ = [
    "DataType",
    "DataTypeCode",
    "Executor",
    "FunctionCache",
    "FunctionPass",
    "GlobalVar",
    "IRModule",
    "ModuleAdapter",
    "ModulePass",
    "PackedFunc",
    "ParpassError",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "RunReport",
    "Runner",
    "Sequential",
    "TVMError",
    "arith",
    "assert_structural_equal",
    "build",
    "contrib",
    "convert",
    "cpu",
    "create_pass",
    "device",
    "error",
    "errors",
    "freeze_support",
    "function_pass",
    "get_global_func",
    "instrument",
    "ir",
    "list_global_func_names",
    "load_json",
    "module_pass",
    "nd",
    "open_runner",
    "parse_pipeline",
    "parser",
    "pass_instrument",
    "propagate",
    "register_adapter",
    "register_func",
    "register_pass",
    "relay",
    "remove_global_func",
    "run_pipeline",
    "run_pipeline_sync",
    "runner",
    "runtime",
    "save_json",
    "spi",
    "structural_equal",
    "structural_hash",
    "target",
    "te",
    "testing",
    "tir",
    "transform",
]

_SUBMODULES = {
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
                "spi",
                "testing",
            ),
            *("target", "te", "tir", "transform"),
        )
    },
    "nd": "parpass.runtime.ndarray",
}

# The registry's names come by way of `ir`, which makes the shipped passes known.
_DEFINING_MODULES = defining_modules(
    {
        "errors": "ParpassError TVMError",
        "target": "build",
        "instrument": "PassInstrument pass_instrument",
        "runtime": "DataType DataTypeCode cpu device",
        "ir": """
            PackedFunc convert get_global_func list_global_func_names register_func
            remove_global_func GlobalVar IRModule load_json save_json
            assert_structural_equal structural_equal structural_hash""",
        "runner": """
            Executor FunctionCache RunReport Runner freeze_support open_runner propagate
            run_pipeline run_pipeline_sync""",
    }
)

__getattr__, __dir__ = attach_lazy(
    __name__,
    {name: _DEFINING_MODULES.get(name, "parpass.transform") for name in __all__},
    submodules=_SUBMODULES,
    hints={
        "open_runner_sync": (
            "open_runner is for both: 'with open_runner() as runner: "
            "runner.run_sync(...)', or 'async with' and 'await runner.run(...)'"
        )
    },
)

attach_tvm_paths(__name__)
