from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import EvaluationError
from parpass.relay.testing import count_ops
from parpass.relay.transform import (
    DeadCodeElimination,
    EliminateCommonSubexpr,
    FoldConstant,
)
from parpass.transform import Sequential
from tests.support.relay.meaning import assert_keeps_meaning

X = relay.var("x", shape=(), dtype="int32")


def evaluated(body: relay.Expr) -> Any:
    mod = tvm.IRModule.from_expr(relay.Function((X,), body))
    return relay.create_executor(mod=mod).evaluate()(np.int32(2)).numpy()


def test_a_function_is_called_with_the_value_when_it_is_computed() -> None:
    seen: list[int] = []
    shown = relay.debug(X + X * X, debug_func=lambda x: seen.append(int(x.numpy())))
    assert evaluated(shown + shown) == 12
    assert seen == [6]


def test_passes_keep_it_and_run_it_not() -> None:
    seen: list[object] = []
    body = relay.Let(relay.var("v"), relay.debug(relay.const(1), seen.append), X)
    mod = tvm.IRModule.from_expr(relay.Function((X,), body))
    passes = Sequential(
        [FoldConstant(), DeadCodeElimination(), EliminateCommonSubexpr()], opt_level=0
    )
    after = assert_keeps_meaning(passes, mod)
    assert count_ops(after["main"])["debug"] == 1
    before = len(seen)
    FoldConstant()(mod)
    assert len(seen) == before


def test_without_a_function_the_debugger_is_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered: list[bool] = []
    monkeypatch.setattr("sys.breakpointhook", lambda: entered.append(True))
    assert evaluated(relay.debug(X)) == 2
    assert entered == [True]


@pytest.mark.parametrize("name", ["relay._transform.InferType", "debugger_func_x"])
def test_a_program_from_elsewhere_calls_no_other_function(name: str) -> None:
    text = f'def @main(%x: int32) {{ debug(%x, debug_func="{name}") }}'
    main = relay.parse('#[version = "0.0.5"]\n' + text)["main"]
    with pytest.raises(EvaluationError, match="has registered no function"):
        evaluated(relay.Call(main, (X,)))


def test_a_text_may_name_none() -> None:
    main = relay.parse('#[version = "0.0.5"]\ndef @main(%x: int32) { debug(%x) }')
    assert evaluated(relay.Call(main["main"], (X,))) == 2
