from __future__ import annotations

import numpy as np

import parpass as tvm
from parpass import relay

X = relay.var("x", shape=(2, 3))


def test_optimize_runs_the_passes_of_the_level():
    mod = tvm.IRModule.from_expr(relay.exp(X))
    with tvm.transform.PassContext(opt_level=3):
        optimized, left = relay.optimize(mod, target="llvm")
    assert "Primitive=1" in str(optimized)
    assert "fast_exp" not in str(optimized)
    assert left == {}
    assert "Primitive" not in str(mod)


def test_optimize_runs_what_the_context_requires_of_higher_levels():
    with tvm.transform.PassContext(opt_level=3, required_pass=["FastMath"]):
        optimized, _ = relay.build_module.optimize(relay.Function([X], relay.exp(X)))
    assert "fast_exp" in str(optimized)


def test_optimize_makes_constants_of_parameters():
    w = relay.var("w", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([X, w], relay.add(X, relay.abs(w))))
    weights = {"w": np.full((2, 3), -1, "float32")}
    with tvm.transform.PassContext(opt_level=3):
        optimized, _ = relay.optimize(mod, params=weights)
    assert "abs" not in str(optimized)
    assert len(optimized["main"].params) == 1
    assert len(mod["main"].params) == 2


def test_free_variables_are_bound_for_an_evaluation():
    value = np.ones((2, 3), "float32")
    result = relay.create_executor().evaluate(relay.add(X, X), binds={X: value})
    assert (result.numpy() == 2).all()
