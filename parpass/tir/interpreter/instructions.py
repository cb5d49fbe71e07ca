"""What programs are evaluated by: instructions, one after the other, and places.

An instruction is a function of the machine; it gives the place of the next one, where
that is another than the one behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from parpass.ir.node import Node
from parpass.tir.expr import Var
from parpass.tir.interpreter.machine import Instruction, Machine


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
