from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from parpass.ir import wire
from parpass.ir.inference_cache import cached_inference
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Tuple, Var, const
from parpass.relay.transform import InferType
from parpass.runner.ipc.blobs import LocalBlob
from parpass.transform import LargeValue
from tests.support.drawn import FUNCTIONS, MODULES
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTH, KINDS, calls, function_of
from tests.support.relay.programs import call_op


@pytest.mark.slow
@given(FUNCTIONS)
@examples(1.25)
def test_decode_is_the_inverse_of_encode(function: Function):
    assert_structural_equal(wire.decode(wire.encode(function)), function)


@pytest.mark.slow
@given(MODULES)
@examples(1.25)
def test_inferred_types_travel_along(module: IRModule):
    typed = InferType()(module)
    for function in typed.functions_by_name.values():
        again = wire.decode(wire.encode(function), (), typed.global_vars_by_name)
        assert _types(again) == _types(function)


def _types(function: Function) -> list[object]:
    return [getattr(node, "checked_type_", None) for node in post_order(function)]


def test_nodes_that_are_shared_stay_shared():
    shared = call_op("negative", Var("x"))
    again = wire.decode(wire.encode(Function((), Tuple((shared, shared)))))
    assert isinstance(again.body, Tuple)
    assert again.body[0] is again.body[1]


def test_operators_are_those_of_the_table():
    again = wire.decode(wire.encode(Function((), call_op("negative", Var("x")))))
    assert isinstance(again.body, Call)
    assert again.body.op is Op.get("negative")


def test_global_variables_become_those_of_the_module_that_the_function_joins():
    encoded = wire.encode(Function((), Call(GlobalVar("f"), (GlobalVar("g"),))))
    mine = GlobalVar("f")
    again = wire.decode(encoded, (), {"f": mine})
    assert isinstance(again.body, Call)
    assert again.body.op is mine
    assert getattr(again.body.args[0], "name_hint", "") == "g"


def test_global_variables_are_new_ones_after_decoding():
    wire.decode(wire.encode(Function((), GlobalVar("f"))), (), {"f": GlobalVar("f")})
    assert wire.global_var_named("f") is not wire.global_var_named("f")


def test_large_values_may_stay_outside():
    values = np.arange(10_000.0)
    function = Function((), const(values))
    kept: list[LargeValue] = []

    def keep(value: LargeValue) -> int:
        kept.append(value)
        return len(kept) - 1

    encoded = wire.encode(function, keep)
    assert len(encoded) < 2000
    assert [value.nbytes for value in kept] == [values.nbytes]
    again = wire.decode(encoded, [LocalBlob(value) for value in kept])
    assert_structural_equal(again, function)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_travels(kind: Callable[[int], Expr]):
    function = function_of(kind(DEPTH))
    assert_structural_equal(wire.decode(wire.encode(function)), function)


def test_a_small_function_is_sent_from_far_down_the_stack():
    function = InferType()(IRModule({"f": function_of(calls(20))}))["f"]
    room = sys.getrecursionlimit() - len(inspect.stack())

    def encoded(deeper: int) -> bytes:
        return encoded(deeper - 1) if deeper else wire.encode(function)

    assert_structural_equal(wire.decode(encoded(room - 40)), function)


def in_one_run(*functions: Function) -> list[bytes]:
    """Return functions as bytes, those after the first leaning on those before."""
    encode = wire.open_encoder()
    encoded = [encode(function) for function in functions]
    return [one for one in encoded if one is not None]


def run_of(*functions: Function) -> list[Function]:
    """Return functions as they come out of a run."""
    decode = wire.open_decoder(b"".join(in_one_run(*functions)))
    return [decode() for _ in functions]


@pytest.mark.slow
@given(MODULES)
@examples(1.25)
def test_functions_of_a_run_come_out_as_they_went_in(module: IRModule):
    typed = InferType()(module)
    both = [*module.functions_by_name.values(), *typed.functions_by_name.values()]
    given = [one for one in both if in_one_run(one)]  # large ones travel alone
    for again, function in zip(run_of(*given), given, strict=True):
        assert_structural_equal(again, function)
        assert _types(again) == _types(function)
        assert cached_inference(again) == cached_inference(function)


def test_functions_of_a_run_share_what_they_shared():
    one = const(np.arange(3.0))
    first, second = run_of(Function((), one), Function((), Tuple((one, one))))
    assert isinstance(second.body, Tuple)
    assert second.body[0] is second.body[1] is first.body
    assert len(set(map(id, run_of(first, first)))) == 1


def test_a_function_says_much_less_where_it_follows_another_one_like_it():
    def one() -> Function:
        x = Var("x", TensorType((2, 3)))
        return Function((x,), call_op("negative", call_op("exp", x)))

    first, second = in_one_run(one(), one())
    assert len(first) > 2 * len(second)


@pytest.mark.slow
def test_a_deep_function_ends_its_run_and_goes_alone():
    deep = function_of(calls(100_000))  # deeper than any stack of C is large
    with pytest.raises(RecursionError):
        in_one_run(function_of(calls(3)), deep)
    assert len(post_order(wire.decode(wire.encode(deep)))) == len(post_order(deep))


def test_a_function_that_is_known_to_be_large_goes_alone():
    mod = InferType()(
        IRModule({"f": function_of(calls(300)), "g": function_of(calls(3))})
    )
    encode = wire.open_encoder()
    assert encode(mod["f"]) is None
    encoded = encode(mod["g"])
    assert encoded is not None
    assert _types(wire.decode(encoded)) == _types(mod["g"])
