"""What holds for every pass on loop programs: on generated ones, and on deep ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from parpass import IRModule, tir
from parpass.ir.structural import assert_structural_equal, structural_equal
from parpass.runner import Runner
from parpass.tir import transform
from parpass.tir.analysis import function_faults
from parpass.transform import PassContext, Sequential, pass_keys, registered_passes
from tests.support.drawn import LOOP_MODULES, PRIM_FUNCS
from tests.support.profiles import examples
from tests.support.runner.pooled import POOLED
from tests.support.tir.pass_table import (
    KINDS,
    PASSES,
    REPEATED,
    SHARING,
    SHIPPED,
    UNNAMED,
    VARIANTS,
    deep,
)
from tests.support.tir.values import assert_same_values


def run(name: str, func: tir.PrimFunc) -> Any:
    made = PASSES[name]
    with PassContext(config=made.config):
        return made.make()(IRModule({"main": func}))["main"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
@given(func=PRIM_FUNCS)
@examples(0.75)
def test_a_pass_keeps_the_meaning_and_is_well_formed(name: str, func: Any) -> None:
    after = run(name, func)
    assert function_faults(after) == []
    assert_same_values(func, after)


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
@given(mod=LOOP_MODULES)
@examples(0.1)
def test_workers_make_the_same_of_a_program(
    runner: Runner, name: str, mod: IRModule
) -> None:
    made = PASSES[name]
    with PassContext(config=made.config):
        serial = made.make()(mod)
    context = PassContext(config={**POOLED, **made.config})
    parallel = runner.run_sync(mod, made.make(), context=context)
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert list(parallel.functions_by_name) == list(serial.functions_by_name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PASSES if name not in REPEATED])
@given(func=PRIM_FUNCS)
@examples(0.4)
def test_a_pass_that_runs_again_soon_changes_nothing(name: str, func: Any) -> None:
    repeated = func
    for _ in range(6):
        before, repeated = repeated, run(name, repeated)
        if repeated is before or structural_equal(before, repeated):
            return
    raise AssertionError(f"{name} still changes the function after 6 runs")


@pytest.mark.slow
@given(func=PRIM_FUNCS)
@examples(0.5)
def test_the_passes_in_a_row_keep_the_meaning(func: Any) -> None:
    in_a_row = Sequential([made.make() for made in PASSES.values()], opt_level=0)
    after: Any = in_a_row(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    assert_same_values(func, after)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_programs_may_be_deep(name: str, kind: Callable[[int], tir.Stmt]) -> None:
    assert isinstance(run(name, deep(kind, 2_000)), tir.PrimFunc)


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_programs_may_be_deeper(name: str, kind: Callable[[int], tir.Stmt]) -> None:
    assert isinstance(run(name, deep(kind)), tir.PrimFunc)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHARING)
@pytest.mark.parametrize("name", PASSES)
def test_expressions_that_share_operands_cost_what_they_consist_of(
    name: str, kind: Callable[[int], tir.Stmt]
) -> None:
    assert isinstance(run(name, deep(kind, 60)), tir.PrimFunc)
    func = deep(kind, 3).with_attr("global_symbol", "main")
    after = run(name, func)
    assert function_faults(after) == []
    assert_same_values(func, after)


def test_every_pass_is_registered_under_its_name_and_tvms_key() -> None:
    known, keys = registered_passes(), pass_keys()
    for name in PASSES.keys() - VARIANTS:
        assert known[name] is getattr(transform, name)
        assert keys[name] in {f"tir.transform.{name}", f"parpass.{name}"}
    for name in PASSES.keys() - VARIANTS - UNNAMED:
        assert known[name]().info.name == f"tir.{name}"


def test_every_exported_pass_is_tested_under_its_name() -> None:
    assert {it.__name__ for it in SHIPPED.values()} == SHIPPED.keys()
    assert SHIPPED.keys() == PASSES.keys() - VARIANTS


def test_all_names_are_exported() -> None:
    assert transform.__all__ == sorted(transform.__all__)
