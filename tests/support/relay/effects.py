"""Operators with effects, for passes that must leave them alone, and what they did.

`test.writes` takes down what it is called on, which is its value. `test.reads` adds how
often that was, so that its value tells where it stands among the writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Effect, Op, register_op
from parpass.ir.types import FuncType
from parpass.relay import op
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.op.declaration.type_relations import identity
from tests.support.relay.programs import (
    TENSORS,
    EffectfulWriter,
    Step,
    Typed,
    arguments,
    call_op,
)

_F32 = TENSORS[0]
_ran: list[bytes] = []


def _writes(_attrs: Any, value: Any) -> Any:
    _ran.append(np.asarray(value).tobytes())
    return value


def _reads(_attrs: Any, value: Any) -> Any:
    return (value + len(_ran)).astype(value.dtype)


WRITES = register_op(Op("test.writes", 1, identity, _writes, effect=Effect.WRITES))
READS = register_op(Op("test.reads", 1, identity, _reads, effect=Effect.READS))


def effect(arg: Expr) -> Call:
    """Return a call of the operator that writes, whose value is its argument."""
    return Call(WRITES, (arg,))


def read(arg: Expr) -> Call:
    """Return a call of the operator that reads."""
    return Call(READS, (arg,))


def observed(mod: IRModule, name: str) -> tuple[Any, list[bytes]]:
    """Return the value of a function of a module, and what was written meanwhile."""
    _ran.clear()
    function = mod[name]
    return evaluate(function, arguments(function), mod), list(_ran)


@st.composite
def effectful_modules(draw: st.DrawFn) -> IRModule:
    """Give modules of functions with effects, all of them ordered by `let`s."""
    module = IRModule()
    callees: list[tuple[GlobalVar, FuncType]] = []
    for number in range(draw(st.integers(1, 3))):
        function = EffectWriter(draw, callees).function(depth=1)
        if draw(st.booleans()):
            function = _with_effect(function).with_attr("Inline", 1)
        assert function.annotated_type is not None
        name = GlobalVar(f"f{number}")
        module[name] = function
        callees.append((name, function.annotated_type))
    return module


def _with_effect(function: Function) -> Function:
    """Return a function that writes what no parameter has a part in."""
    body = Let(Var("nothing"), effect(const(1.0)), function.body)
    return Function(function.params, body, function.ret_type)


@dataclass
class EffectWriter(EffectfulWriter):
    """Writes functions with calls that have an effect."""

    def steps(self, values: Sequence[Typed], depth: int) -> list[Step]:
        effects: list[Step] = [self.effect, self.unused_effect, self.primitive_calls]
        return [*super().steps(values, depth), *effects, *effects]

    def effect(self, values: Sequence[Typed], _depth: int) -> Typed:
        type_ = self.draw(st.sampled_from(TENSORS))
        value = self.value(type_, values)
        made = self.draw(st.sampled_from([effect, read]))(value)
        return self.draw(st.sampled_from([made, call_op("negative", made)])), type_

    def global_call(self, values: Sequence[Typed], depth: int) -> Typed:
        call, type_ = super().global_call(values, depth)
        assert isinstance(call, Call)
        writing = [effect(arg) if not at else arg for at, arg in enumerate(call.args)]
        return self.draw(st.sampled_from([call, Call(call.op, tuple(writing))])), type_

    def unused_effect(self, values: Sequence[Typed], _depth: int) -> Typed:
        """Return what a pass can tell without the result of the call that writes."""
        made = effect(self.value(_F32, values))
        other = self.value(_F32, values)
        zeros = op.zeros_like(made)
        return self.draw(
            st.sampled_from(
                [
                    TupleGetItem(Tuple((made, other)), 1),
                    TupleGetItem(Tuple((other, call_op("negative", made))), 0),
                    zeros,
                    op.add(other, zeros),
                    op.multiply(op.ones_like(made), other),
                    op.full_like(made, const(2.0)),
                    op.reshape_like(other, made),
                    op.broadcast_to_like(const(1.0), made),
                    op.cast_like(other, made),
                    op.add(other, op.sum(op.cast(op.shape_of(made), "float32"))),
                ]
            )
        ), _F32

    def primitive_calls(self, values: Sequence[Typed], _depth: int) -> Typed:
        """Return calls of a function that was fused, which writes by itself."""
        used, unused = self.variable(_F32), self.variable(_F32)
        one = effect(const(np.ones(_F32.concrete_shape, "float32")))
        body = self.draw(
            st.sampled_from([used, call_op("negative", used), op.add(used, one)])
        )
        fused = Function((used, unused), body, _F32).with_attr("Primitive", 1)
        writing = effect(self.value(_F32, values))
        first = Call(fused, (self.value(_F32, values), writing))
        return self.draw(
            st.sampled_from([first, Call(fused, (first, self.value(_F32, values)))])
        ), _F32
