from __future__ import annotations

from typing import Any

import pytest

from parpass import relay
from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types import FuncType, TensorType
from parpass.relay.expr import Expr, Function, Let, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import Defunctionalization, Defunctionalize, InferType

SCALAR = TensorType((), "float32")
ONE = FuncType((SCALAR,), SCALAR)


def scalar(name: str = "x") -> Var:
    return Var(name, SCALAR)


def adds(captured: Var) -> Function:
    z = scalar("z")
    return Function((z,), relay.add(z, captured))


def twice() -> Function:
    f, x = Var("f", ONE), scalar()
    return Function((f, x), f(f(x)))


def test_a_function_is_converted_beside_what_it_calls() -> None:
    mod, x, y = IRModule({"twice": twice()}), scalar(), scalar("y")
    main = Function((x, y), mod.get_global_var("twice")(adds(y), x))
    mod["main"] = Defunctionalization(main, mod)
    run: Any = relay.create_executor(mod=InferType()(mod)).evaluate()
    assert run(1.0, 3.0).numpy() == 7
    assert not any(isinstance(node, Function) for node in post_order(mod["main"].body))


def test_only_a_first_order_function_is_converted_beside_what_it_calls() -> None:
    with pytest.raises(IRError, match="neither takes nor gives functions, got fn"):
        Defunctionalization(twice(), IRModule())


@pytest.mark.slow
def test_programs_may_be_deep() -> None:
    x = scalar()
    nested: Expr = x
    for _ in range(1_500):
        f = Var("f")
        nested = Let(f, Function((), nested), f())
    mod = Defunctionalize()(InferType()(IRModule({"main": Function((x,), nested)})))
    assert evaluate(mod["main"], [2.0], mod) == 2
