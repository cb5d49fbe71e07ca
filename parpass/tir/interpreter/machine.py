"""The stack machine that runs the instructions of a program.

An instruction is a function of the machine; it returns the position of the next one, if
that is not the one after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from parpass.errors import EvaluationError, StepLimitError, UnknownFunctionError
from parpass.function_registry import get_global_func
from parpass.ir.node import Node
from parpass.tir.data_type import data_type
from parpass.tir.expr import Var
from parpass.tir.interpreter.lane_arithmetic import Value, typed
from parpass.tir.interpreter.memory import Pointer

Instruction: TypeAlias = Callable[["Machine"], "int | None"]

_END = 1 << 62  # behind all instructions
_UNBOUND: Any = object()


class Machine:
    """Runs instructions.

    Attributes:
        stack: The values of expressions that wait to be used.
        values: Those of variables.
        rounds: Of each loop that is run, the next value and the one that ends it.
    """

    def __init__(self, name: str, max_steps: int | None) -> None:
        self.stack: list[Value] = []
        self.values: dict[Var, Value] = {}
        self.rounds: list[list[int]] = []
        self._name = name
        self._scopes: list[tuple[Var, Value]] = []
        self._steps, self._max_steps = 0, max_steps
        self._result: Value = None

    def run(self, code: Sequence[Instruction]) -> Value:
        """Run all, from the first on, and return what the program returns."""
        place = 0
        try:
            with np.errstate(all="ignore"):  # what overflows wraps around
                while place < len(code):
                    following = code[place](self)
                    place = place + 1 if following is None else following
        except EvaluationError as error:
            raise type(error)(f"{error}{self._where()}") from error.__cause__
        return self._result

    def step(self) -> None:
        """Count a step."""
        self._steps += 1
        if self._max_steps is not None and self._steps > self._max_steps:
            raise StepLimitError(
                f"expected a program of at most {self._max_steps} steps, got one that "
                "takes more"
            )

    def end(self, value: Value) -> int:
        """Say what the program returns; what comes next is not run."""
        self._result = value
        return _END

    def bind(self, var: Var, value: Value) -> None:
        """Begin the scope of a variable."""
        self._scopes.append((var, self.values.get(var, _UNBOUND)))
        self.values[var] = value

    def unbind(self) -> None:
        """End the scope that was begun last."""
        var, before = self._scopes.pop()
        if before is _UNBOUND:
            del self.values[var]
        else:
            self.values[var] = before

    def value_of(self, var: Var) -> Value:
        """Return the value of a variable."""
        found = self.values.get(var, _UNBOUND)
        if found is _UNBOUND:
            raise EvaluationError(f"expected a bound variable, got '{var.name}'")
        return found

    def call_packed(self, name: str, args: Sequence[Value], dtype: str) -> Value:
        """Return what a function of the registry gives for values."""
        try:
            result = get_global_func(name)(*map(_plain, args))
        except UnknownFunctionError as error:
            raise EvaluationError(str(error)) from None
        has_none = result is None or data_type(dtype).code in ("handle", "void")
        return (
            typed(0 if result is None else result, "int32")
            if (has_none)
            else typed(result, dtype)
        )

    def _where(self) -> str:
        known = [
            f"{var.name} = {self.values[var]}"
            for var, _ in self._scopes
            if isinstance(self.values.get(var), np.generic | np.ndarray)
        ]
        name = f" in '{self._name}'" if self._name else ""
        shown = known[-8:]
        return f"{name or ';'} where {', '.join(shown)}" if shown else name


def _plain(value: Value) -> Any:
    """Return a value as a function of Python is given it."""
    if isinstance(value, Pointer):
        return value.as_array()
    return cast("Any", value).item() if isinstance(value, np.generic) else value


class Label:
    """A place among the instructions, known once all before it are there."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place = 0


Item: TypeAlias = Node | Label | Instruction


def push(value: Any) -> Instruction:
    """Return what puts a value on the stack."""
    return lambda machine: machine.stack.append(value)


def apply(count: int, compute: Callable[..., Any]) -> Instruction:
    """Return what takes values from the stack and puts what is computed of them."""

    def run(machine: Machine) -> None:
        stack = machine.stack
        args = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        stack.append(compute(*args))

    return run


def jump(label: Label) -> Instruction:
    """Return what goes on at a label."""
    return lambda machine: label.place


def jump_unless(label: Label) -> Instruction:
    """Return what goes on at a label if a condition from the stack does not hold."""
    return lambda machine: None if machine.stack.pop() else label.place


def bind(var: Var) -> Instruction:
    """Return what begins the scope of a variable, whose value is on the stack."""
    return lambda machine: machine.bind(var, machine.stack.pop())


def unbind(machine: Machine) -> None:
    """End the scope that was begun last."""
    machine.unbind()


def step(machine: Machine) -> None:
    """Count a step."""
    machine.step()


def drop(machine: Machine) -> None:
    """Forget a value."""
    machine.stack.pop()
