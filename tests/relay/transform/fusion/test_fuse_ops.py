from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from parpass import relay
from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import DefuseOps, FunctionsFromFusion, FuseOps, InferType
from parpass.relay.transform.fusion.defuse_ops import defuse_ops
from parpass.relay.transform.fusion.fuse_ops import fuse_ops
from parpass.relay.type_inference.infer import infer_type
from parpass.transform import PassContext
from tests.support.cases.files import read_cases
from tests.support.cases.program_texts import read_program
from tests.support.drawn import HIGHER_ORDER
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTHS
from tests.support.relay.meaning import assert_keeps_meaning

FLAT = relay.var("x", shape=(10, 20))
FILE = Path(__file__).parents[3] / "cases" / "relay" / "fuse_ops.txt"
CASES = {
    case.name: InferType()(read_program(case.before.text, case.name))
    for case in read_cases(FILE)
    if case.name.startswith(("the documented", "operators are fused by their"))
}
assert len(CASES) == 11


@pytest.mark.parametrize("name", CASES)
def test_defusing_undoes_fusing(name: str) -> None:
    for level in (0, 2):
        fused = FuseOps(level)(CASES[name])
        assert_structural_equal(DefuseOps()(fused), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_functions_of_the_module_are_undone_too(name: str) -> None:
    lifted = FunctionsFromFusion()(FuseOps(fuse_opt_level=0)(CASES[name]))
    assert well_formed(lifted)
    assert len(lifted) > 1
    undone = DefuseOps()(InferType()(lifted))
    assert_structural_equal(undone["main"], CASES[name]["main"])


@pytest.mark.parametrize(("depth", "sizes"), [(10, [10, 10]), (16, [16, 4])])
def test_a_function_has_no_more_operators_than_the_option_says(
    depth: int, sizes: list[int]
) -> None:
    body: Expr = FLAT
    for _ in range(20):
        body = relay.exp(body)
    with PassContext(config={"relay.FuseOps.max_depth": depth}):
        fused = FuseOps()(IRModule({"main": Function((FLAT,), body)}))
    found = [_operators(function) for function in _primitives(fused)]
    assert found == sizes


def test_a_diamond_counts_with_both_its_branches() -> None:
    body: Expr = FLAT
    for _ in range(3):
        left = right = body
        for _ in range(5):
            left, right = relay.exp(left), relay.exp(right)
        body = left + right
    with PassContext(config={"relay.FuseOps.max_depth": 11}):
        fused = FuseOps()(IRModule({"main": Function((FLAT,), body)}))
    assert [_operators(function) for function in _primitives(fused)] == [11, 11, 11]


def test_closures_that_double_with_each_level_are_undone_up_to_a_limit() -> None:
    p = relay.var("p", shape=(2,))
    closure = Function((p,), relay.add(p, p))
    for _ in range(60):
        p = relay.var("p", shape=(2,))
        closure = Function((p,), closure(closure(p)))
    with (
        PassContext(config={"relay.max_copied_nodes": 5_000}),
        pytest.raises(SizeLimitError, match=r"at most 5000 nodes .* with a closure"),
    ):
        DefuseOps()(IRModule({"main": closure}))


@pytest.mark.slow
def test_a_large_function_may_consist_of_calls_of_a_small_one() -> None:
    p = relay.var("p", shape=(2,))
    double, calls = Function((p,), relay.add(p, p)), 22_000
    body: Expr = FLAT
    for _ in range(calls):
        body = double(body)
    mod = IRModule({"main": Function((FLAT,), body)})
    assert len(post_order(DefuseOps()(mod)["main"])) == calls + 3


def _primitives(mod: IRModule) -> list[Function]:
    """Return the primitive functions of `main`, in the order of evaluation."""
    order = post_order(mod["main"])
    callees = [node.op for node in order if isinstance(node, Call)]
    return [
        node
        for node in callees
        if isinstance(node, Function) and node.has_nonzero_attr("Primitive")
    ]


def _operators(function: Function) -> int:
    return sum(isinstance(node, Call) for node in post_order(function.body))


@pytest.mark.slow
@given(mod=HIGHER_ORDER)
@examples(0.3)
def test_fusing_and_defusing_keep_the_meaning(mod: IRModule) -> None:
    assert_keeps_meaning(DefuseOps(), assert_keeps_meaning(FuseOps(), mod))


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_expressions_are_fused_and_defused(depth: int) -> None:
    body: Expr = FLAT
    for _ in range(depth):
        body = relay.exp(body)
    typed = infer_type(Function((FLAT,), body))
    fused = fuse_ops(typed, max_depth=depth)
    assert isinstance(fused.body, Call)
    assert isinstance(fused.body.op, Function)
    assert len(post_order(defuse_ops(fused))) == len(post_order(typed))
