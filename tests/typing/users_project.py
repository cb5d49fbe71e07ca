"""A user's passes, as somebody writes them who checks types strictly."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from typing import assert_type

import parpass
from parpass import IRModule, PassContext, PassInfo, open_runner, relay
from parpass.relay.dataflow_pattern import (
    DFPatternCallback,
    is_op,
    partition,
    rewrite,
    wildcard,
)
from parpass.runtime import NDArray
from parpass.transform import FunctionPass, register_pass


class Doubles(relay.ExprMutator):
    """Drops the second of two negations."""

    dropped = 0

    def visit_call(self, call: relay.Call) -> relay.Expr:
        new: relay.Call = super().visit_call(call)
        negative, inner = relay.op.get("negative"), new.args[0]
        if new.op != negative or not isinstance(inner, relay.Call):
            return new
        self.dropped += inner.op == negative
        return inner.args[0] if inner.op == negative else new


class Counter(relay.ExprVisitor):
    """Counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        self.calls += 1
        super().visit_call(call)


@register_pass("my.DropDoubleNegation")
class DropDoubleNegation(FunctionPass):
    """Replaces `negative(negative(x))` by `x`."""

    pass_info = PassInfo(opt_level=1, name="DropDoubleNegation", required=["InferType"])

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        doubles = Doubles()
        result = doubles.visit(func)
        ctx.count("dropped", doubles.dropped)
        return result


class ReluOfRelu(DFPatternCallback):
    """Drops the second of two."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = is_op("nn.relu")(wildcard())
        self.pattern = is_op("nn.relu")(self.inner)

    def callback(
        self, pre: relay.Expr, post: relay.Expr, node_map: object
    ) -> relay.Expr:
        return post


def build() -> relay.Function:
    """Make a function, lists and all."""
    x = relay.var("x", shape=[2, 3])
    both = relay.Tuple([x, relay.negative(relay.negative(x))])
    first, second = relay.split(x, 2)
    total = relay.add(relay.TupleGetItem(both, 1), first + second)
    call = relay.Call(relay.op.get("abs"), [total])
    kind = relay.FuncType([relay.TensorType([2, 3])], relay.TupleType([]))
    return relay.Function([x], call, kind.ret_type)


function = build()
assert_type(Doubles().visit(function), relay.Function)
assert_type(Doubles().visit(function.body), relay.Expr)
assert_type(relay.bind(function, {"x": 1.0}), relay.Function)
assert_type(rewrite(ReluOfRelu(), function), relay.Function)
assert_type(partition(is_op("abs")(wildcard()), function.body), relay.Expr)
assert_type(function.params, tuple[relay.Var, ...])

mod, params = relay.frontend.from_onnx("model.onnx", {"x": (1, 3)}, freeze_params=True)
assert_type(mod, IRModule)
assert_type(params, dict[str, NDArray])
assert_type(relay.load_param_dict(relay.save_param_dict(params)), dict[str, NDArray])
mod["main"] = relay.build_module.bind_params_by_name(function, params)

passes = [DropDoubleNegation(), relay.transform.FoldConstant()]
assert_type(parpass.run_pipeline_sync(mod, passes), IRModule)
assert_type(parpass.transform.Sequential(passes)(mod), IRModule)


async def serve() -> None:
    """Run on an event loop."""
    async with open_runner(workers=2) as runner:
        assert_type(await runner.run(mod, "InferType,FoldConstant"), IRModule)
        assert_type(await runner.run(mod, passes, on_failure="skip"), IRModule)
        await runner.run(mod, passes, on_failure="go on")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        await runner.run(mod, passes, workers=2)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    assert_type(await parpass.run_pipeline(mod, passes), IRModule)


with open_runner() as runner:
    assert_type(runner.run_sync(mod, passes, memory_limit=2**30), IRModule)
    assert_type(runner.run_sync(mod, passes, cpu_limit=0.5), IRModule)
    runner.run_sync(mod, passes, memory_limit="1 GB")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
parpass.run_pipeline_sync(mod, passes, time_out=1.5)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
open_runner(wokers=2)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
relay.Function(function.params[0], function)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
