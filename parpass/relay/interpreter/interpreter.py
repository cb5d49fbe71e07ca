"""The interpreter: evaluates a program on numpy arrays.

Each frame of a function has its own stack of nodes that wait to be evaluated, and the
frames themselves are a list. So neither the depth of an expression nor the depth of a
program's recursion is bounded by Python's recursion limit.

Operators are evaluated one by one, in the order of the data flow, so a program gives
equal bits each time (as long as BLAS uses the same number of threads).

`get_calibration_data` records the inputs and outputs of functions for other compilers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import CallLimitError, EvaluationError, IRError
from parpass.errors.core import describe_kind, quoted
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.relay.adt import Match
from parpass.relay.binding import bind, bind_params_by_name
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.interpreter.frame import Frame, enter
from parpass.relay.interpreter.op_value import evaluate_call
from parpass.relay.interpreter.values import (
    Array,
    Closure,
    ConstructorValue,
    RefValue,
    Value,
    as_value,
    describe,
    map_parts,
)
from parpass.runtime.ndarray import NDArray


def evaluate(
    expr: Expr,
    args: Sequence[Any] = (),
    module: IRModule | None = None,
    max_calls: int | None = None,
) -> Value:
    """Return the value of an expression; a function is called on arguments.

    Args:
        expr: A function, a global variable that names one, or an expression without
            free variables.
        args: The arguments: arrays, numbers, and tuples of them.
        module: Where global variables are looked up.
        max_calls: How many calls of functions a program may take, which may call
            itself for ever; None for any number.

    Returns:
        An array, a tuple of values, a `ConstructorValue`, a `RefValue`, or a `Closure`.

    Raises:
        EvaluationError: The arguments do not fit the function, a variable is not
            bound, or an operator cannot be evaluated.
        CallLimitError: It takes more calls than it may.
    """
    machine = _Machine(module, max_calls)
    if isinstance(expr, GlobalVar):
        closure = machine.global_closure(expr)
    elif isinstance(expr, Function):
        closure = Closure(expr)
    else:
        closure = Closure(Function((), expr))
    types = chain((p.type_annotation for p in closure.function.params), repeat(None))
    return machine.run(enter(closure, list(map(as_value, args, types))))


class _Machine:
    """Evaluates frames until the first one has its value."""

    def __init__(self, module: IRModule | None, max_calls: int | None) -> None:
        self._module = module
        self._max_calls = max_calls

    def global_closure(self, var: GlobalVar) -> Closure:
        """Return the function of a global variable."""
        if self._module is None or var not in self._module:
            raise EvaluationError(
                f"expected a function named '{var.name_hint}' in the module, got none"
            )
        return Closure(self._module[var], name=var.name_hint)

    def run(self, first: Frame) -> Value:
        """Return the value of a frame's body."""
        active, calls = [first], 0
        while True:
            frame = active[-1]
            called = self._advance(frame)
            if called is not None:
                calls += 1
                if self._max_calls is not None and calls > self._max_calls:
                    raise CallLimitError(
                        f"expected a program of at most {self._max_calls} calls of "
                        f"functions, got one that takes more"
                    )
                active.append(called)
                continue
            active.pop()
            result = frame.values[frame.body]
            if not active:
                return result
            caller = active[-1]
            caller.values[caller.stack.pop()] = result

    def _advance(self, frame: Frame) -> Frame | None:
        """Evaluate until the body has a value, or a function is called."""
        stack, values = frame.stack, frame.values
        while stack:
            node = stack[-1]
            if node in values:
                stack.pop()
                continue
            waiting = frame.waits_for(node)
            if waiting:
                stack.extend(reversed(waiting))
                continue
            value = self._value(frame, node)
            if isinstance(value, Frame):
                return value
            values[node] = value
            stack.pop()
        return None

    def _value(self, frame: Frame, node: Expr) -> Value | Frame:
        """Return a node's value, or the frame that it calls for."""
        values = frame.values
        match node:
            case Call():
                return _apply(values[node.op], node, [values[x] for x in node.args])
            case Tuple():
                return tuple(values[field] for field in node.fields)
            case TupleGetItem():
                return _project(values[node.tuple_value], node.index)
            case Let():
                return values[node.body]
            case If():
                return values[frame.branch(node)]
            case Match():
                return values[frame.clauses[node].rhs]
            case RefCreate() | RefRead() | RefWrite():
                return _referred(node, values)
            case _:
                return self._leaf(frame, node)

    def _leaf(self, frame: Frame, node: Expr) -> Value:
        """Return the value of a node that waits for no other."""
        match node:
            case Constant():
                return node.data.numpy()
            case Var():
                return frame.variable(node)
            case GlobalVar():
                return self.global_closure(node)
            case Function():
                return Closure(node, frame)
            case Op() | Constructor():
                return node
            case _:
                raise EvaluationError(
                    f"expected an expression, got {type(node).__name__}"
                )


def _apply(callee: Value, call: Call, args: list[Value]) -> Value | Frame:
    if isinstance(callee, Op):
        return evaluate_call(callee, call.attrs, args)
    if isinstance(callee, Closure):
        return enter(callee, args)
    if isinstance(callee, Constructor):
        if len(args) != len(callee.inputs):
            raise EvaluationError(
                f"expected {len(callee.inputs)} arguments for constructor "
                f"'{callee.name_hint}', got {len(args)}"
            )
        return ConstructorValue(callee.tag, args, callee)
    raise EvaluationError(f"expected a function to call, got {describe(callee)}")


def _referred(
    node: RefCreate | RefRead | RefWrite, values: Mapping[Expr, Value]
) -> Value:
    """Create a reference, or return or set what it refers to."""
    if isinstance(node, RefCreate):
        return RefValue(values[node.value])
    ref = values[node.ref]
    if not isinstance(ref, RefValue):
        raise EvaluationError(f"expected a reference, got {describe(ref)}")
    if isinstance(node, RefRead):
        return ref.value
    ref.value = values[node.value]
    return ()


def _project(value: Value, index: int) -> Value:
    if not isinstance(value, tuple):
        raise EvaluationError(f"expected a tuple to project, got {describe(value)}")
    fields = cast("tuple[Value, ...]", value)
    if not 0 <= index < len(fields):
        raise EvaluationError(f"expected a field below {len(fields)}, got {index}")
    return fields[index]


class Executor:
    """The result of `create_executor`; its only method is `evaluate`."""

    def __init__(self, module: IRModule) -> None:
        self._module = module

    def evaluate(
        self, expr: Expr | None = None, binds: Mapping[Any, Any] | None = None
    ) -> Any:
        """Return the value of an expression.

        A function, or its global variable, gives a Python function that takes arguments
        by position and by name; None stands for the module's `main`.

        Args:
            expr: The expression.
            binds: Values of its free variables; see `relay.bind`.
        """
        if expr is not None and binds:
            expr = bind(expr, binds)
        target = self._module.get_global_var("main") if expr is None else expr
        if isinstance(target, GlobalVar):
            function = self._module[target]
        elif isinstance(target, Function):
            function = target
        else:
            return _as_result(evaluate(target, (), self._module))

        def run(*args: Any, **params: Any) -> Any:
            ordered = _ordered(function, args, params)
            return _as_result(evaluate(target, ordered, self._module))

        return run


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: object = None,
    target: object = None,
    params: Mapping[str, NDArray | npt.ArrayLike] | None = None,
) -> Executor:
    """Return an executor for a module's functions and for other expressions.

    A single interpreter stands for all of TVM's kinds. Device and target have no
    effect.

    Args:
        kind: `debug`, `graph`, `vm` or `aot`.
        mod: Defines global variables; None for an empty module.
        device: Not used.
        target: Not used.
        params: Values of parameters of `main`, by name; callers pass the other ones.

    Raises:
        EvaluationError: The kind is unknown, `mod` is not a module, or it has no `main`
            whose parameters could have values.
        IRTypeError: `params` is not a mapping of values by name, or a value does not
            fit its parameter.
    """
    del device, target
    if kind not in _KINDS:
        raise EvaluationError(
            f"expected one of {quoted(_KINDS)} for kind, got '{kind}'"
        )
    mod = IRModule() if mod is None else mod
    if not isinstance(cast("object", mod), IRModule):
        raise EvaluationError(f"expected an IRModule for mod, got {describe_kind(mod)}")
    if params is not None:
        if "main" not in mod:
            raise EvaluationError("expected a module with a 'main' for params=")
        mod = mod.copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    return Executor(mod)


_SHOWN = 5  # names of arguments in a message

_KINDS = ("debug", "graph", "vm", "aot")


def _ordered(
    function: Function, args: Sequence[Any], named: Mapping[str, Any]
) -> list[Any]:
    """Return arguments in the order of the parameters."""
    rest = [param.name_hint for param in function.params[len(args) :]]
    unknown = sorted(named.keys() - set(rest))
    missing = [name for name in rest if name not in named]
    if unknown or missing:
        hint = "; weights are given by params=" if missing and not named else ""
        raise EvaluationError(
            f"expected arguments for {_listed(rest) or 'no more parameters'}, "
            f"got {_listed(named) or 'none'}{hint}"
        )
    return [*args, *(named[name] for name in rest)]


def _listed(names: Collection[str]) -> str:
    shown = quoted(islice(names, _SHOWN))
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _as_result(value: Value) -> Any:
    return map_parts(value, _as_ndarray)


def _as_ndarray(value: Value) -> Any:
    return NDArray(cast("Array", value)) if isinstance(value, np.ndarray) else value


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
