"""A network as one function, which C calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, relay, te
from parpass.errors import ArgumentError, CodeGenError, KernelError
from parpass.runtime import Module
from parpass.runtime.library_file import places_of
from tests.support.relay.lowered_networks import (
    WEIGHT,
    built,
    expected,
    halves,
    network,
)

X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


def machine_code_alone() -> IRModule:
    """Return the network without what numpy computes; two results are one value."""
    mod = network()
    main = mod["main"]
    both = main.body.var
    lo, hi = (relay.TupleGetItem(both, at) for at in range(2))
    body = relay.Let(both, main.body.value, relay.Tuple([hi, lo, hi, main.params[0]]))
    mod["main"] = relay.Function(main.params, body)
    return mod


def called(module: Module, *inputs: Any) -> list[Any]:
    """Call the function as C does, with memory that is full of other values."""
    run = module["default_run"]
    parameters: Any = module.manifest.functions["default_run"].parameters
    places, size = places_of(module.weights)
    weights = np.zeros(size, "uint8")
    for name, place in places.items():
        raw = module.weights[name].raw()
        weights[place : place + raw.nbytes] = np.frombuffer(raw, "uint8")
    outputs: list[Any] = [
        np.full(one.shape, 77, one.dtype) for one in parameters[len(inputs) : -2]
    ]
    workspace = np.full(parameters[-1].shape, 0x55, "uint8")
    run(*inputs, *outputs, weights, workspace)
    return outputs


def test_one_call_runs_a_network():
    module = built(machine_code_alone(), executor="aot")
    hi, lo, again, x = called(module, X)
    _, expected_lo = expected(X)
    np.testing.assert_allclose(lo, expected_lo, rtol=1e-5)
    np.testing.assert_allclose(hi, (X @ WEIGHT.T + 3) * 2, rtol=1e-5)
    assert np.array_equal(again, hi)
    assert np.array_equal(x, X)


def test_its_parameters_say_what_c_passes():
    module = built(machine_code_alone(), executor="aot")
    found = module.manifest.functions["default_run"].parameters
    outputs = [f"output_{at}" for at in range(4)]
    assert [one.name for one in found] == ["x", *outputs, "weights", "workspace"]
    assert [one.is_written for one in found] == [False, *[True] * 4, False, True]
    assert found[0].shape == (2, 4)
    assert found[-2].shape == (48,)
    with pytest.raises(ArgumentError, match=r"expected an array of shape \(2, 4\)"):
        called(module, X[:1].copy())


def test_the_fault_of_a_kernel_ends_it_by_name():
    x = te.placeholder((2,), "int32", "x")
    y = te.compute((2,), lambda i: te.div(1, x[i]), "y")
    func = te.create_prim_func([x, y])
    attrs = {"global_symbol": "divides", func.NUM_OUTPUTS: 1}
    v = relay.var("x", shape=(2,), dtype="int32")
    main = relay.Function([v], relay.Call(relay.GlobalVar("divides"), [v]))
    mod = IRModule({"main": main, "divides": func.with_attr(attrs)})
    module = built(mod, executor="aot")
    assert called(module, np.array([1, -1], "int32"))[0].tolist() == [1, -1]
    with pytest.raises(KernelError, match="kernel 'divides' ends well"):
        called(module, np.array([1, 0], "int32"))


def test_what_numpy_computes_is_refused():
    with pytest.raises(CodeGenError, match="numpy computes 'fused_sort'"):
        built(network(), executor="aot")


def test_a_network_of_nothing_between_needs_no_workspace():
    x = relay.var("x", shape=(2, 3))
    call = relay.Call(relay.GlobalVar("split"), [x])
    mod = IRModule({"main": relay.Function([x], call), "split": halves("split")})
    lo, hi = called(built(mod, executor="aot"), np.ones((2, 3), "float32"))
    assert (lo.max(), hi.min()) == (0, 2)
