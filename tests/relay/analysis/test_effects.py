from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Effect, Op
from parpass.ir.types import FuncType, RelayRefType, TensorType
from parpass.relay.analysis import Effects
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
)
from parpass.relay.op import annotation, nn
from tests.support.relay.adts import LIST, head_or, list_of
from tests.support.relay.effects import READS, WRITES, effect, read

TENSOR = TensorType((3,), "float32")
ONE = FuncType((TENSOR,), TENSOR)

x = relay.var("x", shape=(3,))
cond = relay.var("cond", "bool")
f = relay.var("f", ONE)


def noisy() -> Function:
    p = relay.var("p", TENSOR)
    return Function((p,), effect(p))


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (relay.exp(x), Effect.PURE),
        (relay.exp(read(x)), Effect.READS),
        (nn.dropout(x), Effect.READS),
        (Tuple((read(x), effect(x))), Effect.WRITES),
        (If(cond, x, effect(x)), Effect.WRITES),
        (noisy(), Effect.PURE),
        (Call(noisy(), (x,)), Effect.WRITES),
        (Let(f, noisy(), x), Effect.PURE),
        (Let(f, noisy(), f(x)), Effect.WRITES),
        (Let(f, annotation.stop_fusion(noisy()), f(x)), Effect.WRITES),
        (f(x), Effect.WRITES),
        (GlobalVar("nowhere")(x), Effect.WRITES),
        (GlobalVar("quiet")(x), Effect.PURE),
    ],
)
def test_the_greatest_effect_below_counts(expr: Expr, wanted: Effect) -> None:
    quiet = Function((x,), relay.exp(x))
    assert Effects(mod=IRModule({"quiet": quiet})).of(expr) is wanted


def test_what_is_known_of_a_part_is_not_what_is_known_of_the_whole() -> None:
    effects = Effects()
    loud, silent = read(x), relay.exp(x)
    assert effects.of(Tuple((loud, silent))) is Effect.READS
    assert effects.of(silent) is Effect.PURE
    assert effects.of(Tuple((loud, effect(silent)))) is Effect.WRITES
    assert effects.of(loud) is Effect.READS
    assert effects.may_drop(loud, silent)
    assert not effects.may_drop(loud, effect(x))


def test_a_rewrite_that_loses_what_writes_is_seen() -> None:
    effects = Effects()
    writing = effect(x)
    before = relay.add(relay.negative(writing), x)
    assert effects.survive(before, relay.subtract(x, writing))
    assert not effects.survive(before, relay.negative(x))
    assert not effects.survive(before, relay.subtract(x, effect(x)))
    assert effects.survive(relay.add(read(x), x), x)


def test_effects_have_their_name_in_tvm() -> None:
    for op, stateful in [(WRITES, True), (READS, True), (Op.get("add"), False)]:
        assert op.get_attr("TOpIsStateful") is stateful


R, V = Var("r", RelayRefType(TensorType(()))), Var("v", TensorType(()))


@pytest.mark.parametrize(
    ("expr", "effect"),
    [
        (RefCreate(V), Effect.READS),
        (RefRead(R), Effect.READS),
        (RefWrite(R, V), Effect.WRITES),
        (Function((V,), RefWrite(R, V)), Effect.PURE),
        (Call(Function((V,), RefWrite(R, V)), (V,)), Effect.WRITES),
        (head_or(list_of(V), V), Effect.PURE),
        (head_or(list_of(V), RefRead(R)), Effect.READS),
        (list_of(Function((), RefWrite(R, V))), Effect.PURE),
        (Call(RefRead(R), ()), Effect.WRITES),
        (Call(Var("f", LIST(TensorType(()))), ()), Effect.WRITES),
        (Call(Var("untyped"), ()), Effect.WRITES),
    ],
)
def test_references_are_read_and_written(expr: Expr, effect: Effect) -> None:
    assert Effects().of(expr) is effect
