"""`relay.build_module`, as far as parpass has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parpass.errors.missing_names import refusing
from parpass.ir.module import IRModule
from parpass.relay.binding import bind_params_by_name
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.transform.pipelines import default_pipeline
from parpass.transform import PassContext


def optimize(
    mod: IRModule | Function,
    target: object = None,
    params: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """Return a module as the passes of the context's level leave it.

    Those are the passes of `relay.transform.default_pipeline`, and of those of higher
    levels in it the ones that the context requires. They run in this process; on every
    core they do by `run_pipeline(mod, default_pipeline(3))`.

    Args:
        mod: The module, or a function.
        target: Not used: the interpreter computes everywhere alike.
        params: Values of parameters of `main`, by name; they become constants.

    Returns:
        The module, and the values that have not become constants, which are none.
    """
    del target
    module = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    if params:
        module = module.copy()
        module["main"] = bind_params_by_name(module["main"], params)
    context = PassContext.current()
    pipeline = default_pipeline(context.opt_level, required=context.required_pass)
    return pipeline(module), {}


__all__ = ["bind_params_by_name", "create_executor", "optimize"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
