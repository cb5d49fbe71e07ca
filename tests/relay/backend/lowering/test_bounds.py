"""Whatever a test compiles is checked: an access out of bounds is told by its run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay, tir
from parpass.errors import KernelError
from parpass.relay.backend.lowering.loops import nest
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    OpCall,
    register_injective,
    register_template,
)
from parpass.runtime.graph_executor import GraphModule
from tests.support.registering import registering_for_a_while

X = relay.var("x", shape=(2, 8))


@pytest.fixture(autouse=True)
def _rules_for_a_while() -> Iterator[None]:
    with registering_for_a_while():
        yield


def run(body: relay.Expr, level: int = 3, **config: Any) -> None:
    with tvm.PassContext(opt_level=level, config=config):
        lib = relay.build(relay.Function([X], body), workers=0)
    module = GraphModule(lib["default"](tvm.cpu()))
    module.run(x=np.ones((2, 8), "float32"))


def next_element(place: Any, indices: Indices) -> tir.PrimExpr:
    return place.at([*indices[:-1], indices[-1] + 1])


def test_a_rule_that_reads_behind_its_operand_is_caught():
    register_injective("erf")(lambda call, at: next_element(call.sources[0], at))
    for level in (0, 3):
        with pytest.raises(KernelError, match=r"OUT OF THE BOUNDS \(in 'fused_erf_"):
            run(relay.erf(X), level)


def test_so_is_one_that_reads_there_on_a_condition_that_is_wrong():
    def behind(call: OpCall[Any], at: Indices) -> tir.PrimExpr:
        inside = at[-1] <= 7  # and not 6
        return tir.if_then_else(inside, next_element(call.sources[0], at), 0.0)

    register_injective("erf")(behind)
    with pytest.raises(KernelError, match="OUT OF THE BOUNDS"):
        run(relay.erf(X))


def test_a_template_that_writes_behind_its_result_is_caught():
    @register_template("nn.softmax", level=99)
    def softmax(call: OpCall[Any], store: Any) -> Any:
        (data,) = call.sources
        return nest(
            call.out.shape, lambda at: store([at[0], at[1] + 1], data.at([*at]))
        )

    with pytest.raises(KernelError, match="OUT OF THE BOUNDS"):
        run(relay.nn.softmax(X))
    run(relay.exp(X))


def test_a_context_says_otherwise():
    register_injective("erf")(lambda call, at: next_element(call.sources[0], at))
    run(relay.erf(X), **{"tir.instrument_bound_checkers": False})
