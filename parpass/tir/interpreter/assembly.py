"""Loop programs as instructions, one after the other, for the machine to run.

So neither the depth of a program nor that of an expression meets Python's recursion
limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.node import Node
from parpass.runtime.dtypes import converted
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    And,
    BinaryOpExpr,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    CmpExpr,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Load,
    Not,
    Or,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Var,
)
from parpass.tir.interpreter.accesses import buffer_load, buffer_store, load, store
from parpass.tir.interpreter.intrinsics import call
from parpass.tir.interpreter.lane_arithmetic import binary, typed
from parpass.tir.interpreter.machine import (
    Instruction,
    Item,
    Label,
    Machine,
    apply,
    bind,
    drop,
    jump,
    jump_unless,
    push,
    step,
    unbind,
)
from parpass.tir.interpreter.memory import allocated, element_dtype
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Store,
    While,
)


def assemble(items: Sequence[Item]) -> list[Instruction]:
    """Return the instructions of statements, expressions and instructions in order."""
    code: list[Instruction] = []
    stack: list[Any] = list(reversed(items))
    while stack:
        item = stack.pop()
        if isinstance(item, Label):
            item.place = len(code)
        elif isinstance(item, Node):
            expand = _EXPANSIONS.get(type(item))
            if expand is None:
                raise EvaluationError(
                    f"a {type(item).__name__} cannot be evaluated in a loop program"
                )
            stack += reversed(expand(item))
        else:
            code.append(item)
    return code


def _variable(var: Var) -> list[Item]:
    return [lambda machine: machine.stack.append(machine.value_of(var))]


def _imm(imm: IntImm | FloatImm) -> list[Item]:
    return [push(typed(imm.value, imm.dtype))]


def _string(imm: StringImm) -> list[Item]:
    return [push(imm.value)]


def _binary(node: BinaryOpExpr | CmpExpr) -> list[Item]:
    compute = binary(type(node), node.dtype)
    if compute is None:
        raise EvaluationError(f"a {type(node).__name__} cannot be evaluated")
    return [node.a, node.b, apply(2, compute)]


def _logical(node: And | Or) -> list[Item]:
    is_and = isinstance(node, And)
    if data_type(node.dtype).lanes > 1:
        both = np.logical_and if is_and else np.logical_or
        return [node.a, node.b, apply(2, both)]
    decided = Label()

    def look(machine: Machine) -> int | None:
        if bool(machine.stack[-1]) is is_and:
            machine.stack.pop()
            return None
        return decided.place

    return [node.a, look, node.b, decided]


def _not(node: Not) -> list[Item]:
    return [node.a, apply(1, np.logical_not)]


def _cast(node: Cast) -> list[Item]:
    element = element_dtype(node.dtype)

    def change(value: Any) -> Any:
        return typed(value, node.dtype)

    def to_int(value: Any) -> Any:
        return typed(converted(np.asarray(value), element), node.dtype)

    is_to_int = data_type(node.value.dtype).is_floating and element.kind in "iu"
    return [node.value, apply(1, to_int if is_to_int else change)]


def _select(node: Select) -> list[Item]:
    def choose(condition: Any, true: Any, false: Any) -> Any:
        if data_type(node.condition.dtype).lanes == 1:
            return true if condition else false
        return typed(np.where(condition, true, false), node.dtype)

    return [node.condition, node.true_value, node.false_value, apply(3, choose)]


def _ramp(node: Ramp) -> list[Item]:
    def steps(base: Any, stride: Any) -> Any:
        return typed(base + stride * np.arange(node.lanes), node.dtype)

    return [node.base, node.stride, apply(2, steps)]


def _broadcast(node: Broadcast) -> list[Item]:
    def repeat(value: Any) -> Any:
        return np.full(node.lanes, value)

    return [node.value, apply(1, repeat)]


def _shuffle(node: Shuffle) -> list[Item]:
    count = len(node.vectors)

    def pick(*values: Any) -> Any:
        lanes = np.concatenate([np.atleast_1d(one) for one in values[:count]])
        chosen = lanes[[int(index) for index in values[count:]]]
        return typed(chosen if len(chosen) > 1 else chosen[0], node.dtype)

    return [*node.vectors, *node.indices, apply(count + len(node.indices), pick)]


def _let(node: Let | LetStmt) -> list[Item]:
    return [node.value, bind(node.var), node.body, unbind]


def _allocate(node: Allocate) -> list[Item]:
    def make(*values: Any) -> Any:
        count = int(np.prod([int(one) for one in values[:-1]])) if values[-1] else 0
        return allocated(node.buffer_var.name, node.dtype, count)

    operands = [*node.extents, node.condition]
    made = [*operands, apply(len(operands), make)]
    return [*made, bind(node.buffer_var), node.body, unbind]


def _realize(node: BufferRealize) -> list[Item]:
    buffer = node.buffer

    def make(*extents: Any) -> Any:
        return allocated(buffer.name, buffer.dtype, int(np.prod(extents)))

    made = [*buffer.shape, apply(len(buffer.shape), make)]
    return [*made, bind(buffer.data), node.body, unbind]


def _seq(node: SeqStmt) -> list[Item]:
    return list(node.seq)


def _attr(node: AttrStmt) -> list[Item]:
    """Return the body; of threads one runs after the other."""
    axis = node.node
    if isinstance(axis, IterVar) and node.attr_key in (
        "thread_extent",
        "virtual_thread",
    ):
        zero = IntImm(axis.var.dtype, 0)
        return _loop(axis.var, zero, node.value, node.body)
    return [node.body]


def _for(node: For) -> list[Item]:
    return _loop(node.loop_var, node.min, node.extent, node.body)


def _loop(var: Var, begin: PrimExpr, extent: PrimExpr, body: Node) -> list[Item]:
    again, end = Label(), Label()

    def enter(machine: Machine) -> None:
        rounds, first = int(machine.stack.pop()), machine.stack.pop()
        machine.rounds.append([int(first), int(first) + rounds])
        machine.bind(var, first)

    def next_round(machine: Machine) -> int | None:
        found = machine.rounds[-1]
        if found[0] >= found[1]:
            return end.place
        machine.step()
        machine.values[var] = typed(found[0], var.dtype)
        found[0] += 1
        return None

    def leave(machine: Machine) -> None:
        machine.rounds.pop()
        machine.unbind()

    return [begin, extent, enter, again, next_round, body, jump(again), end, leave]


def _while(node: While) -> list[Item]:
    again, end = Label(), Label()
    return [
        *(again, node.condition, jump_unless(end)),
        *(step, node.body, jump(again), end),
    ]


def _if(node: IfThenElse) -> list[Item]:
    otherwise, end = Label(), Label()
    below = [] if node.else_case is None else [node.else_case]
    return [
        *(node.condition, jump_unless(otherwise), node.then_case, jump(end)),
        *(otherwise, *below, end),
    ]


def _assert(node: AssertStmt) -> list[Item]:
    def check(holds: Any, message: Any) -> None:
        if not holds:
            raise EvaluationError(f"an assertion does not hold: {message}")

    return [node.condition, node.message, apply(2, check), drop, node.body]


def _evaluate(node: Evaluate) -> list[Item]:
    return [step, node.value, drop]


_EXPANSIONS: dict[type[Any], Callable[[Any], list[Item]]] = {
    **dict.fromkeys(BinaryOpExpr.__subclasses__(), _binary),
    **dict.fromkeys(CmpExpr.__subclasses__(), _binary),
    Allocate: _allocate,
    And: _logical,
    AssertStmt: _assert,
    AttrStmt: _attr,
    Broadcast: _broadcast,
    BufferLoad: buffer_load,
    BufferRealize: _realize,
    BufferStore: buffer_store,
    Call: call,
    Cast: _cast,
    Evaluate: _evaluate,
    FloatImm: _imm,
    For: _for,
    IfThenElse: _if,
    IntImm: _imm,
    IterVar: lambda axis: [axis.var],
    Let: _let,
    LetStmt: _let,
    Load: load,
    Not: _not,
    Or: _logical,
    Ramp: _ramp,
    Select: _select,
    SeqStmt: _seq,
    Shuffle: _shuffle,
    Store: store,
    StringImm: _string,
    **dict.fromkeys((Var, *Var.__subclasses__()), _variable),
    While: _while,
}
