"""The operator `debug`, which calls a function with a value at run time."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from parpass.errors import EvaluationError
from parpass.function_registry import get_global_func, register_func
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, Effect
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.build import operator
from parpass.relay.op.declaration.type_relations import same_value
from parpass.runtime.ndarray import NDArray

__all__ = ["debug"]

# A program that was read from a file can only call functions that `debug` registered.
_PREFIX = "debugger_func"
_numbers = itertools.count()


class DebugAttrs(Attrs, frozen=True):
    """Attributes of `debug`: the name of a function, empty for none."""

    debug_func: str = ""


def _shown(attrs: DebugAttrs, data: Array) -> Array:
    name = attrs.debug_func
    if not name:
        return data
    shown = get_global_func(name, True) if name.startswith(_PREFIX) else None
    if shown is None:
        raise EvaluationError(
            f"'debug': this process has registered no function '{name}'; "
            "relay.debug(data, function) does"
        )
    shown(NDArray(data))
    return data


@operator("debug", same_value, _shown, DebugAttrs, effect=Effect.WRITES, moves=True)
def _debug(data: Expr, debug_func: str = "") -> Call:
    """Build the call."""
    ...


def debug(data: Expr, debug_func: Callable[[NDArray], object] | None = None) -> Call:
    """Call a function with a value when it is computed; the result is the value.

    Args:
        data: The value.
        debug_func: The function, which only the calling process can run; by default it
            enters the debugger, like `breakpoint`.
    """
    name = f"{_PREFIX}{next(_numbers)}"
    register_func(name, debug_func or _stop)
    return _debug(data, name)


def _stop(_value: NDArray) -> None:
    breakpoint()
