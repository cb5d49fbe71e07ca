"""Loop programs that share nodes: linear, or refused by a stated bound, everywhere.

Each level of a program uses the one below it twice, as the same object; 40 levels are
some hundred nodes, and more than any memory holds as a tree.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import IRModule, PassContext, tir
from parpass.errors import EvaluationError, ParpassError, SizeLimitError
from parpass.tir import transform
from parpass.tir.analysis import function_faults, undefined_vars, verify_ssa
from parpass.tir.interpreter.evaluation import evaluate
from tests.support.cpu_time import late_among
from tests.support.tir.pass_table import PASSES, Listed
from tests.support.tir.shared_loops import FAMILIES, STATEMENTS

_SECONDS = (
    10.0  # many times as long as it takes; what doubles at each level takes years
)
_DEPTH = 40


def _flat(make: Callable[[], Any]) -> Any:
    return tvm.transform.Sequential([transform.FlattenBuffer(), make()])


_FLATTENED = {
    f"flat {name}": Listed(functools.partial(_flat, PASSES[name].make))
    for name in ("Simplify", "RewriteUnsafeSelect")
}
_SETTINGS = {
    "all short loops": Listed(
        transform.UnrollLoop,
        {"tir.UnrollLoop": {"auto_max_extent": 2, "auto_max_depth": 100}},
    ),
}
_PASSES = PASSES | _FLATTENED | _SETTINGS
_DOORS: dict[str, Callable[[IRModule], Any]] = {
    "build": lambda mod: tvm.build(mod, target="llvm", workers=0),
    "text": str,
    "repr": lambda mod: repr(mod["main"].body),
    "json": lambda mod: tvm.load_json(tvm.save_json(mod)),
    "pickle": lambda mod: pickle.loads(pickle.dumps(mod)),
    "hash": tvm.structural_hash,
    "verify_ssa": lambda mod: verify_ssa(mod["main"]),
    "function_faults": lambda mod: function_faults(mod["main"]),
    "undefined_vars": lambda mod: undefined_vars(mod["main"]),
    "interpreter": lambda mod: evaluate(mod["main"], [np.zeros(4, "int32")]),
}


def _run(listed: Listed, mod: IRModule) -> IRModule:
    with PassContext(config=listed.config):
        return listed.make()(mod)


def _programs(at: int, *, each: int) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Yield one form of every so many-th family; another number gives others."""
    for number, (name, forms) in enumerate(FAMILIES.items()):
        if (number + at) % each == 0:
            form = list(forms)[(number // each + at) % len(forms)]
            yield f"{name}, {form}", forms[form]


def _cells(
    programs: Iterator[tuple[str, Callable[[int], Any]]],
    call: Callable[[IRModule], Any],
    depth: int,
) -> dict[str, Callable[[], Any]]:
    return {
        name: functools.partial(call, IRModule({"main": make(depth)}))
        for name, make in programs
    }


@pytest.mark.parametrize("name", _PASSES)
def test_passes_end_on_what_is_shared(name: str) -> None:
    programs = _programs(list(_PASSES).index(name), each=8)
    cells = _cells(programs, lambda mod: _run(_PASSES[name], mod), _DEPTH)
    assert late_among(cells, _SECONDS, ParpassError) == []


@pytest.mark.parametrize("name", _DOORS)
def test_what_is_no_pass_ends_on_what_is_shared(name: str) -> None:
    programs = _programs(list(_DOORS).index(name), each=8)
    cells = _cells(programs, _DOORS[name], _DEPTH)
    assert late_among(cells, _SECONDS, ParpassError) == []


@pytest.mark.stress
@pytest.mark.parametrize("name", [*_PASSES, *_DOORS])
def test_all_ends_on_all_that_is_shared(name: str) -> None:
    def call(mod: IRModule) -> Any:
        return _DOORS[name](mod) if name in _DOORS else _run(_PASSES[name], mod)

    programs = [
        (f"{family}, {form}", make)
        for family, forms in FAMILIES.items()
        for form, make in forms.items()
    ]
    cells = _cells(iter(programs), call, 60)
    assert late_among(cells, 2 * _SECONDS, ParpassError) == []


_LINEAR = {
    "RemoveNoOp": STATEMENTS,
    "UnrollLoop": STATEMENTS.keys(),
    "FlattenBuffer": STATEMENTS,
}


@pytest.mark.parametrize("name", _LINEAR)
def test_what_is_small_when_shared_is_not_refused(name: str) -> None:
    for family in _LINEAR[name]:
        mod = IRModule({"main": FAMILIES[family]["of_statements"](_DEPTH)})
        after: Any = _run(PASSES[name], mod)["main"]
        assert len(pickle.dumps(after)) < 5 * len(pickle.dumps(mod)), family


def _unrolled_in_each_other(depth: int) -> tir.PrimFunc:
    variables = [tir.Var(f"i{at}", "int32") for at in range(depth)]
    total: Any = sum(variables[1:], start=variables[0])
    stmt: tir.Stmt = tir.Evaluate(tir.call_extern("int32", "f", total))
    for var in variables:
        stmt = tir.For(var, 0, 2, tir.ForKind.UNROLLED, stmt)
    return tir.PrimFunc([], stmt)


@pytest.mark.parametrize("name", ["build", "unrolling"])
def test_what_would_be_too_large_is_refused_with_the_bound_and_a_way_out(
    name: str,
) -> None:
    mod = IRModule({"main": FAMILIES["sequences"]["of_statements"](60)})
    if name == "unrolling":
        mod = IRModule({"main": _unrolled_in_each_other(60)})
    call: dict[str, Callable[[], Any]] = {
        "build": lambda: tvm.build(mod, target="llvm", workers=0),
        "unrolling": lambda: transform.UnrollLoop()(mod),
    }
    with pytest.raises(SizeLimitError, match=r"at most \d+ .*, got .*; .*loop") as told:
        call[name]()
    assert any("function 'main'" in note for note in told.value.__notes__)


@pytest.mark.slow
def test_a_build_of_any_statement_that_is_shared_is_refused_at_once() -> None:
    cells = {
        family: functools.partial(_DOORS["build"], IRModule({"main": make(_DEPTH)}))
        for family in STATEMENTS
        for make in [FAMILIES[family]["of_statements"]]
    }
    assert late_among(cells, _SECONDS, SizeLimitError) == []


def _value(func: Any, number: int) -> Any:
    array = np.arange(4, dtype="int32")
    numbers = [number + at for at in range(len(func.params) - 1)]
    try:
        evaluate(func, [array, *numbers], max_steps=500)
    except EvaluationError as error:
        return type(error)
    return array.tolist()


@pytest.mark.parametrize("name", _PASSES)
def test_passes_keep_the_meaning_of_what_is_shared(name: str) -> None:
    for family, make in _programs(list(_PASSES).index(name), each=4):
        mod = IRModule({"main": make(2)})
        try:
            after = _run(_PASSES[name], mod)
        except ParpassError:
            continue
        before = _value(mod["main"], 4)
        if not isinstance(before, type):
            assert _value(after["main"], 4) == before, family


def test_compiled_code_keeps_the_meaning_of_what_is_shared() -> None:
    for family in FAMILIES.keys() - STATEMENTS:
        for form in ("of_values", "of_conditions"):
            if form not in FAMILIES[family]:
                continue
            func = FAMILIES[family][form](3)
            built = tvm.build(func, target="llvm", workers=0)
            for number in (0, 4):
                expected = _value(func, number)
                array = tvm.nd.array(np.arange(4, dtype="int32"))
                numbers = [number + at for at in range(len(func.params) - 1)]
                if not isinstance(expected, type):
                    built(array, *numbers)
                    assert array.numpy().tolist() == expected, family


def test_long_sequences_that_are_shared_stay_one_statement() -> None:
    store = tir.Evaluate(tir.call_extern("int32", "f"))
    short, long = tir.SeqStmt([store] * 8), tir.SeqStmt([store] * 65)
    assert tir.stmt_list(tir.SeqStmt([short, short])) == [store] * 16
    assert tir.stmt_list(tir.SeqStmt([long, store])) == [store] * 66
    assert tir.stmt_list(tir.SeqStmt([long, long])) == [long, long]
    assert tir.stmt_list(long) == [store] * 65


def test_sequences_are_laid_out_once_however_deep() -> None:
    store = tir.Evaluate(tir.call_extern("int32", "f"))
    stmt: tir.Stmt = store
    for _ in range(20_000):
        stmt = tir.SeqStmt([stmt, store])
    mod = IRModule({"main": tir.PrimFunc([], stmt)})
    after: Any = transform.RemoveNoOp()(mod)["main"]
    assert after.body.seq == (store,) * 20_001


def test_statements_that_rounds_of_an_unrolled_loop_share_are_simplified() -> None:
    i, n = tir.Var("i", "int32"), tir.Var("n", "int32")
    calls = [tir.Evaluate(tir.call_extern("int32", "f")) for _ in range(60)]
    branch = tir.IfThenElse(i < n, tir.SeqStmt(calls), None)
    loop = tir.For(i, 0, 64, tir.ForKind.UNROLLED, branch)
    unrolled = transform.UnrollLoop()(IRModule({"main": tir.PrimFunc([n], loop)}))
    after: Any = transform.Simplify()(unrolled)["main"]
    assert len(after.body.seq) == 64
