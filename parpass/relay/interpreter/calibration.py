"""What goes into the functions of other compilers, and comes out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.expr import Call, Expr, Function, GlobalVar, If, Let, Tuple
from parpass.relay.interpreter.interpreter import create_executor
from parpass.runtime.ndarray import NDArray

_Calls = dict[GlobalVar, Call]


def get_calibration_data(
    mod: IRModule, data: Mapping[str, Any]
) -> dict[GlobalVar, dict[str, list[NDArray]]]:
    """Return what the functions with the attribute `Compiler` are given, and give.

    Args:
        mod: The module, whose `main` calls them and has no control flow.
        data: The arguments of `main`, by name.

    Returns:
        Lists of arrays by the names of the functions, under `inputs` and `outputs`; of
        a function that is called twice those of the last call.

    Raises:
        IRError: `main` has a `let`, a branch or a closure.
    """
    main = cast("Function", mod["main"])
    calls = _calls(mod, main)
    seen = [value for call in calls.values() for value in (*call.args, call)]
    shown = mod.copy()
    shown["main"] = Function(main.params, Tuple(seen), None, main.type_params)
    values = list(create_executor(mod=shown).evaluate()(**data))
    found: dict[GlobalVar, dict[str, list[NDArray]]] = {}
    for var, call in calls.items():
        inputs, values = values[: len(call.args)], values[len(call.args) :]
        result, *values = values
        outputs = [result] if isinstance(result, NDArray) else list(result)
        found[var] = {"inputs": inputs, "outputs": outputs}
    return found


def _calls(mod: IRModule, main: Function) -> _Calls:
    found: _Calls = {}
    for node in cast("list[Expr]", post_order(main.body)):
        if isinstance(node, Let | If | Function):
            raise IRError(
                "expected a 'main' of calls and tuples alone to calibrate, got "
                f"{type(node).__name__}"
            )
        if not isinstance(node, Call) or not isinstance(node.op, GlobalVar):
            continue
        if mod[node.op].attributes.get("Compiler"):
            found[node.op] = node
    return found
