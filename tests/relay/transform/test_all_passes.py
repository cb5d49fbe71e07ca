"""What holds for every shipped pass: on generated programs, and on very deep ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given

from parpass.ir.module import IRModule
from parpass.relay import transform
from parpass.relay.expr import Expr, Function
from parpass.relay.text.parser import parse
from parpass.relay.transform.dead_code_elimination import eliminate_dead_code
from parpass.relay.transform.eliminate_common_subexpr import eliminate_common_subexpr
from parpass.relay.transform.fold_constant import fold_constant
from parpass.relay.transform.simplify.simplify_expr import simplify_expr
from parpass.relay.transform.simplify.simplify_inference import simplify_inference
from parpass.runner import Runner
from parpass.transform import PassContext, Sequential, pass_keys, registered_passes
from tests.relay.transform.told_types import TOLD_BY_CALLS
from tests.support.drawn import PROGRAMS
from tests.support.profiles import examples
from tests.support.relay.deep import COND, DEPTH, KINDS, TYPED_KINDS, X, function_of
from tests.support.relay.meaning import assert_keeps_meaning, assert_parallel_is_serial
from tests.support.relay.pass_table import (
    DERIVING,
    MARKING,
    PASSES,
    SHIPPED,
    UNNAMED,
    VARIANTS,
)

# Passes that put constants together round otherwise.
TOLERANCES = {"not exact": 1e-4, "FastMath": 1e-4}

# Passes whose PassInfo has another name than their class, there as here.
SPELLED_BY_TVM = {
    "CombineParallelConv2D": "CombineParallelConv2d",
    "Inline": "InlineGlobals",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
@given(mod=PROGRAMS)
@examples(0.6)
def test_a_pass_keeps_the_meaning_and_the_types(name: str, mod: IRModule) -> None:
    tolerance = TOLERANCES.get(name, 0.0)
    assert_keeps_meaning(PASSES[name](), mod, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, kind in SHIPPED.items() if kind.preserves]
)
@given(mod=PROGRAMS)
@examples(0.6)
def test_passes_preserve_what_they_say(name: str, mod: IRModule) -> None:
    with PassContext(config={"parpass.check_analyses": True}):
        PASSES[name]()(mod)


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
@given(mod=PROGRAMS)
@examples(0.1)
def test_workers_make_the_same_of_a_program(
    runner: Runner, name: str, mod: IRModule
) -> None:
    assert_parallel_is_serial(runner, PASSES[name](), mod)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PASSES if name not in MARKING])
@given(mod=PROGRAMS)
@examples(0.4)
def test_a_pass_that_runs_again_soon_changes_nothing(name: str, mod: IRModule) -> None:
    repeated = transform.InferType()(mod)
    for _ in range(20):
        before, repeated = repeated, PASSES[name]()(repeated)
        if all(f is before[n] for n, f in repeated.functions_by_name.items()):
            return
    raise AssertionError(f"{name} still changes the module after 20 runs")


# `f0` is in place of its call, and no longer in the module, once Inline ran.
F0_INLINED = parse("""
def @f0(%x: Tensor[(2, 3), float32], Inline=1) { negative(%x) }
def @f1(%x: Tensor[(2, 3), float32]) { @f0(%x) }
""")


@pytest.mark.slow
@given(mod=PROGRAMS)
@example(mod=F0_INLINED)
@examples(0.4)
def test_the_passes_in_a_row_keep_the_meaning(mod: IRModule) -> None:
    # RemoveUnusedFunctions requires that its entry function is there, see above.
    beside = {"InferType", "RemoveUnusedFunctions", *MARKING}
    last = [factory() for name, factory in PASSES.items() if name not in beside]
    tolerance = max(TOLERANCES.values())
    in_a_row = Sequential(last, opt_level=0)
    assert_keeps_meaning(in_a_row, mod, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", sorted(PASSES))
def test_types_that_only_calls_tell_of_stay_told(name: str) -> None:
    typed = transform.InferType()(parse(TOLD_BY_CALLS))
    assert_keeps_meaning(PASSES[name](), typed, rtol=TOLERANCES.get(name, 0.0))


def inline_once(function: Function) -> Function:
    return eliminate_dead_code(function, inline_once=True)


REWRITES: list[Callable[[Function], Function]] = [
    fold_constant,
    eliminate_common_subexpr,
    eliminate_dead_code,
    inline_once,
    simplify_inference,
    simplify_expr,
]


@pytest.mark.stress  # each pass has a deep test of its own in the default suite
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rewrite", REWRITES)
def test_programs_may_be_deep_in_every_way(
    kind: Callable[[int], Expr], rewrite: Callable[[Function], Function]
) -> None:
    result = rewrite(function_of(kind(DEPTH)))
    assert result.params == (X, COND)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPED_KINDS)
def test_deep_programs_are_typed(kind: Callable[[int], Expr]) -> None:
    mod = transform.InferType()(IRModule({"main": function_of(kind(DEPTH))}))
    assert mod["main"].ret_type == X.type_annotation


def test_every_pass_is_registered_under_its_name_and_tvms_key_7_14() -> None:
    known, keys = registered_passes(), pass_keys()
    for name in PASSES.keys() - VARIANTS:
        assert known[name] is getattr(transform, name)
        assert keys[name] in {f"relay._transform.{name}", f"parpass.{name}"}
    for name in PASSES.keys() - VARIANTS - UNNAMED:
        assert known[name]().info.name == SPELLED_BY_TVM.get(name, name)
        assert known[name]() is not known[name]()


def test_every_exported_pass_is_tested_under_its_name() -> None:
    assert {it.__name__ for it in SHIPPED.values()} == SHIPPED.keys()
    assert SHIPPED.keys() == (PASSES.keys() - VARIANTS) | DERIVING


def test_passes_export_what_passes_are_made_with_and_those_of_tvm_first() -> None:
    keys, known = pass_keys(), registered_passes()
    own = {known[name] for name, key in keys.items() if key.startswith("parpass.")}

    def place(name: str) -> tuple[bool, str]:
        return getattr(transform, name) in own, name

    assert transform.__all__ == sorted(transform.__all__, key=place)
    for name in transform.__all__:
        assert hasattr(transform, name)
