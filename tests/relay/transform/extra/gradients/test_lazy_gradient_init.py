from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.relay.transform import InferType, LazyGradientInit, gradient

X, Y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
ROW, FLAG = relay.var("row", shape=(3,)), relay.var("flag", shape=(), dtype="bool")
PAIR = relay.var("pair", type_annotation=relay.TupleType((X.type_annotation,) * 2))  # pyright: ignore[reportArgumentType]
DATA = np.arange(6, dtype="float32").reshape(2, 3)


def module(*params: relay.Var, body: relay.Expr) -> tvm.IRModule:
    return InferType()(tvm.IRModule.from_expr(relay.Function(params, body)))


def result(mod: tvm.IRModule, *args: Any) -> list[np.ndarray[Any, Any]]:
    found: Any = relay.create_executor(mod=mod).evaluate()(*args)
    is_one = hasattr(found, "numpy")
    return [np.asarray(one.numpy()) for one in ([found] if is_one else found)]


V = relay.var("v", shape=(2, 3))
PROGRAMS: list[tuple[tvm.IRModule, tuple[Any, ...]]] = [
    (module(X, Y, body=(X - Y) * Y + relay.ones_like(X)), (DATA, DATA + 1)),
    (module(X, body=X * relay.zeros((2, 3), "float32") + X), (DATA,)),
    (module(X, body=relay.ones_like(X) * X), (DATA,)),
    (module(X, ROW, body=X + relay.zeros_like(ROW)), (DATA, DATA[0])),
    (module(X, body=relay.Tuple((X, X * relay.const(2.0)))), (DATA,)),
    (module(X, body=relay.split(X, 3, 1)[1]), (DATA,)),
    (
        module(PAIR, body=relay.TupleGetItem(PAIR, 0) + relay.TupleGetItem(PAIR, 1)),
        ((DATA, DATA),),
    ),
    (
        module(X, FLAG, body=relay.If(FLAG, X + relay.zeros_like(X), X * X)),
        (DATA, True),
    ),
    (
        module(X, body=relay.Let(V, relay.Function([Y], Y + Y)(X), V * V)),
        (DATA,),
    ),
]


@pytest.mark.parametrize(("mod", "args"), PROGRAMS)
def test_programs_keep_their_types_and_values(
    mod: tvm.IRModule, args: tuple[Any, ...]
) -> None:
    lazy = LazyGradientInit()(mod)
    assert lazy["main"].checked_type == mod["main"].checked_type
    assert "GradCell" in lazy.text()
    for one, other in zip(result(mod, *args), result(lazy, *args), strict=True):
        assert np.array_equal(one, other)


def test_zeros_are_not_added() -> None:
    lazy = LazyGradientInit()(module(X, body=X + relay.zeros_like(X)))
    assert np.signbit(result(lazy, np.full((2, 3), -0.0, "float32"))[0]).all()


def test_gradients_are_what_they_were() -> None:
    func = InferType()(tvm.IRModule.from_expr(relay.Function([X, Y], X * Y)))["main"]
    mod = InferType()(tvm.IRModule.from_expr(gradient(func)))
    run: Any = relay.create_executor(mod=LazyGradientInit()(mod)).evaluate()
    _, (by_x, by_y) = run(DATA, DATA + 1)
    assert np.array_equal(by_x.numpy(), DATA + 1)
    assert np.array_equal(by_y.numpy(), DATA)
