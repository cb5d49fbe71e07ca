"""What functions share after a run, as `docs/writing-a-pass.md` says it."""

from __future__ import annotations

import numpy as np
import pytest

from parpass import IRModule, PassContext, relay
from parpass.ir.node import post_order
from parpass.runner import Runner
from parpass.transform import FunctionPass, PassInfo
from tests.support.runner.pooled import POOLED


class Negate(FunctionPass):
    """Changes each function but one, and leaves its constants alone."""

    pass_info = PassInfo(0, "Negate")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name == "f0":
            return func
        return relay.Function(func.params, relay.negative(func.body), func.ret_type)


def sharing(size: int) -> IRModule:
    """Return functions that share a constant, and use it twice."""
    weight = relay.const(np.arange(size, dtype="float32"))

    def function() -> relay.Function:
        x = relay.var("x", shape=(size,))
        return relay.Function((x,), relay.add(relay.add(x, weight), weight))

    return IRModule({f"f{at}": function() for at in range(3)})


def constants(function: relay.Function) -> list[relay.Constant]:
    return [one for one in post_order(function) if isinstance(one, relay.Constant)]


@pytest.fixture(params=[10, 10_000])
def run(request: pytest.FixtureRequest, runner: Runner) -> tuple[IRModule, IRModule]:
    mod = relay.transform.InferType()(sharing(request.param))
    return mod, runner.run_sync(mod, Negate(), context=PassContext(config=POOLED))


def test_a_function_that_is_returned_as_it_is_is_the_same_object(
    run: tuple[IRModule, IRModule],
):
    before, after = run
    assert after["f0"] is before["f0"]
    assert after["f1"] is not before["f1"]


def test_what_a_function_uses_twice_it_uses_twice_after_a_run(
    run: tuple[IRModule, IRModule],
):
    for function in run[1].functions_by_name.values():
        assert len(constants(function)) == 1


def test_large_values_stay_one_array_in_all_functions(
    run: tuple[IRModule, IRModule],
):
    before, after = run
    (weight,) = constants(before["f0"])
    found = [constants(one)[0] for one in after.functions_by_name.values()]
    arrays = {id(one.data) for one in found}
    if weight.data.nbytes >= 16_384:  # small ones are, where they travel together
        assert len(arrays) == 1
    assert {one.data for one in found} == {weight.data}  # by content they are one
