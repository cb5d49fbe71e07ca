"""What `relay.op.effect` says of effects holds for every shipped pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.relay import transform
from parpass.relay.expr import Expr, Function, If, Let, Tuple, TupleGetItem
from parpass.relay.op import nn
from parpass.relay.transform import ToANormalForm, ToBasicBlockNormalForm
from parpass.relay.type_inference.infer import infer_type
from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential
from tests.support.drawn import shared
from tests.support.profiles import examples
from tests.support.relay.effects import effect, effectful_modules, observed
from tests.support.relay.meaning import assert_parallel_is_serial, flattened
from tests.support.relay.pass_table import PASSES

ROUNDS = {"SimplifyExpr", "FastMath", "SimplifyInference", "FoldScaleAxis"}

x = relay.var("x", shape=(2, 3))
image = relay.var("image", shape=(1, 2, 4, 4))
cond = relay.var("cond", "bool")


def ones(*shape: int) -> Expr:
    return relay.const(np.ones(shape, "float32"))


def twice(*shape: int) -> Expr:
    return effect(relay.const(np.full(shape, 2, "float32")))


def assert_keeps_effects(name: str, mod: IRModule) -> None:
    before = transform.InferType()(mod)
    with PassContext(opt_level=4):
        after = transform.InferType()(PASSES[name]()(before))
    exact = name not in ROUNDS
    for function in before.functions_by_name.keys() & after.functions_by_name.keys():
        wanted, written = observed(before, function)
        got, written_after = observed(after, function)
        assert len(written_after) == len(written)
        if exact:
            assert written_after == written
        tolerance = 0 if exact else 1e-4
        for one, other in zip(flattened(got), flattened(wanted), strict=True):
            np.testing.assert_allclose(one, other, tolerance, tolerance, strict=True)


EFFECTFUL = shared(effectful_modules())


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
@given(mod=EFFECTFUL)
@examples(0.5)
def test_effects_happen_as_often_and_in_the_same_order(
    name: str, mod: IRModule
) -> None:
    assert_keeps_effects(name, mod)


class Registering(FunctionPass):
    """Does nothing; a worker that unpickles it has imported the operators."""

    pass_info = PassInfo(0, "Registering", required=("InferType",))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return func


@pytest.mark.slow
@given(name=st.sampled_from(sorted(PASSES)), mod=EFFECTFUL)
@examples(1.5)
def test_workers_leave_the_same_effects(
    runner: Runner, name: str, mod: IRModule
) -> None:
    known_there: Pass = Sequential([Registering(), PASSES[name]()], opt_level=0)
    assert_parallel_is_serial(runner, known_there, mod)


# What networks are made of, with an effect where a pass may move or lose it.
NETWORKS: dict[str, Callable[[], Expr]] = {
    "unused gamma": lambda: nn.batch_norm(
        image, twice(2), ones(2), ones(2), ones(2), scale=False
    )[0],
    "unused beta": lambda: nn.layer_norm(x, ones(3), twice(3), center=False),
    "mean": lambda: nn.batch_norm(image, ones(2), ones(2), twice(2), ones(2))[0],
    "dropped": lambda: nn.dropout(effect(x)),
    "dense": lambda: relay.add(nn.dense(x, ones(4, 3)), nn.dense(x, twice(4, 3))),
    "convolutions": lambda: relay.add(
        nn.conv2d(image, ones(3, 2, 1, 1)), nn.conv2d(image, twice(3, 2, 1, 1))
    ),
    "scale before": lambda: nn.conv2d(
        relay.multiply(nn.relu(image), twice(2, 1, 1)), ones(3, 2, 1, 1)
    ),
    "scale behind": lambda: relay.multiply(
        nn.conv2d(image, ones(3, 2, 1, 1)), twice(3, 1, 1)
    ),
    "bias": lambda: nn.bias_add(nn.conv2d(image, ones(3, 2, 1, 1)), twice(3)),
    "data": lambda: nn.conv2d(effect(image), ones(3, 2, 1, 1)),
    "branches": lambda: If(
        cond, nn.dense(x, ones(4, 3)), nn.dense(x, twice(4, 3))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_effects_stay_in_networks(name: str) -> None:
    functions = {
        f"f{at}": Function((x, image, cond), make())
        for at, make in enumerate(NETWORKS.values())
    }
    assert_keeps_effects(name, IRModule(functions))


def test_an_inlined_function_has_its_effects_in_each_place() -> None:
    noisy = relay.GlobalVar("noisy")
    p = relay.var("p", shape=(2, 3))
    body = Let(relay.var("nothing"), effect(relay.const(1.0)), p)
    marked = Function((p,), body).with_attr("Inline", 1)
    main = Function((x,), relay.add(noisy(x), noisy(x)))
    assert_keeps_effects("Inline", IRModule({noisy: marked, "main": main}))


@pytest.mark.parametrize("form", [ToANormalForm, ToBasicBlockNormalForm])
@pytest.mark.parametrize("inside", [False, True])
def test_an_effect_that_several_blocks_use_is_an_error_of_the_normal_forms(
    form: Callable[[], Pass], inside: bool
) -> None:
    shared = relay.negative(effect(x)) if inside else effect(x)
    program = If(cond, shared, If(cond, shared, x))
    with pytest.raises(DiagnosticError) as caught:
        form()(transform.InferType()(IRModule.from_expr(Function((x, cond), program))))
    assert "function 'main': expected a value with an effect to be used in" in str(
        caught.value
    )
    assert relay.analysis.function_faults(
        infer_type(Function((x, cond), program)), IRModule()
    ) == ["a Call with an effect is used in several blocks, and no `let` binds it"]


@pytest.mark.parametrize("form", [ToANormalForm, ToBasicBlockNormalForm])
def test_an_effect_that_a_let_binds_may_be_used_in_several_blocks(
    form: Callable[[], Pass],
) -> None:
    a = relay.var("a")
    program = Let(a, effect(x), If(cond, a, TupleGetItem(Tuple((a, x)), 0)))
    mod = transform.InferType()(IRModule.from_expr(Function((x, cond), program)))
    assert observed(form()(mod), "main")[1] == observed(mod, "main")[1]
