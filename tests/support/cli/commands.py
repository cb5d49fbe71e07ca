"""What the command is tested with: model files, and passes that fail."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


def write_model(path: Path, *op_types: str) -> Path:
    """Write a model that applies operators of one argument to `x`, one by one."""
    names = ["x", *(f"v{at}" for at in range(len(op_types)))]
    graph = helper.make_graph(
        [
            helper.make_node(op_type, [given], [made])
            for op_type, given, made in zip(op_types, names, names[1:], strict=False)
        ],
        "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info(names[-1], onnx.TensorProto.FLOAT, [2, 3])],
    )
    opset = helper.make_opsetid("", 13)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def write_open_model(path: Path) -> Path:
    """Write a model whose two inputs have open dimensions, and a third selects."""
    branches = {
        name: helper.make_graph(
            [helper.make_node(op_type, ["a"], [name], keepdims=kept)],
            name,
            [],
            [helper.make_empty_tensor_value_info(name)],
        )
        for name, op_type, kept in (("t", "ReduceSum", 1), ("e", "ReduceMax", 0))
    }
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "y"], ["a"]),
            helper.make_node("Equal", ["rate", "wide"], ["is_wide"]),
            helper.make_node(
                "If",
                ["is_wide"],
                ["z"],
                then_branch=branches["t"],
                else_branch=branches["e"],
            ),
        ],
        "graph",
        [
            helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", None]),
            helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 3]),
            helper.make_tensor_value_info("rate", onnx.TensorProto.INT64, []),
        ],
        [helper.make_empty_tensor_value_info("z")],
        [numpy_helper.from_array(np.array(16000), "wide")],
    )
    opset = helper.make_opsetid("", 13)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@register_pass("test.FailAlways")
class FailAlways(FunctionPass):
    """Raises."""

    pass_info = PassInfo(0, "FailAlways")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        raise ValueError("it cannot be")


@register_pass("test.SayError")
class SayError(FunctionPass):
    """Reports an error on the program."""

    pass_info = PassInfo(0, "SayError")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        assert ctx.diag_ctx is not None
        ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel.ERROR, None, "a bad program"))
        return func


@register_pass("test.InterruptAlways")
class InterruptAlways(FunctionPass):
    """Is interrupted, as by Ctrl-C."""

    pass_info = PassInfo(0, "InterruptAlways")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        raise KeyboardInterrupt


@register_pass("test.ExitAlways")
class ExitAlways(FunctionPass):
    """Calls `sys.exit`."""

    pass_info = PassInfo(0, "ExitAlways")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        sys.exit(3)
