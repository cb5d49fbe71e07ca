"""Loops that begin at what memory has: it is read once, before the first round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, PassContext, tir
from parpass.tir import transform
from parpass.tir.interpreter.evaluation import evaluate
from parpass.transform import Pass

PASSES: dict[str, Pass] = {
    "UnrollLoop": transform.UnrollLoop(),
    "Simplify": transform.Simplify(),
}


def _function(kind: int, rounds: int) -> tir.PrimFunc:
    """Return a function whose loop stores where it began."""
    buffer: Any = tir.decl_buffer((8,), "int32", "A")
    handle, i = tir.Var("a", "handle"), tir.Var("i", "int32")
    changed = tir.BufferStore(buffer, i + 1, [tir.const(5)])
    stored = tir.BufferStore(buffer, i, [tir.floormod(i, tir.const(4))])
    body = tir.SeqStmt([changed, stored])
    loop = tir.For(i, tir.BufferLoad(buffer, [tir.const(5)]), rounds, kind, body)
    func: Any = tir.PrimFunc([handle], loop, buffer_map={handle: buffer})
    return func.with_attr("global_symbol", "main")


def _value(function: Any) -> list[int]:
    array = np.arange(8, dtype="int32")
    evaluate(function, [array])
    return array.tolist()


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("kind", [tir.ForKind.SERIAL, tir.ForKind.UNROLLED])
def test_where_a_loop_begins_is_read_once(name: str, rounds: int, kind: int) -> None:
    function = _function(kind, rounds)
    config = {"tir.UnrollLoop": {"auto_max_extent": 3, "auto_max_depth": 2}}
    with PassContext(config=config):
        after = PASSES[name](IRModule({"main": function}))["main"]
    assert _value(after) == _value(function)
