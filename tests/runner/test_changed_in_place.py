"""Functions that passes change in place, with an adapter that says nothing of it."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import parpass
from parpass.errors import AdapterError, AdapterWarning, ContractError
from parpass.runner import FunctionCache, Runner, open_runner
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    analysis,
    register_adapter,
)
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import run_pooled
from tests.support.toy.parented_ir import (
    Adapter,
    Append,
    Clear,
    DraggingMod,
    DropNops,
    Fn,
    Fold,
    FunctionDefs,
    Mod,
    SettingMod,
    Spoil,
    module,
)

PASSES = [DropNops(), Append(), DropNops()]
EXPECTED = [f"{name}: add mul add mul" for name in "abc"]


def runs_of(runner: Runner) -> list[Any]:
    def serially(root: Pass, mod: Any) -> Any:
        return root(mod)

    def pooled(root: Pass, mod: Any) -> Any:
        return run_pooled(runner, root, mod)

    return [serially, pooled]


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    with registering_for_a_while():
        yield


@pytest.mark.parametrize("knows", [False, True])
@pytest.mark.parametrize("kind", [Mod, SettingMod])
def test_they_are_changed_in_what_comes_out_and_not_in_what_went_in(
    runner: Runner, kind: type[Mod], knows: bool
):
    for run in runs_of(runner):
        given = module(kind, knows=knows)
        before, functions = given.texts(), dict(given.functions)
        made = run(Sequential(PASSES), given)
        assert made.texts() == EXPECTED
        assert given.texts() == before
        assert given.functions == functions
        for name, function in given.functions.items():
            assert function.parent is (given if knows else None)
            assert made.functions[name] is not function
        if knows or kind is SettingMod:
            assert all(one.parent is made for one in made.functions.values())
            assert all(op.parent.parent is made for op in made.functions["a"].ops)


def test_a_pass_that_changes_another_function_changes_none(runner: Runner):
    for run in runs_of(runner):
        given = module()
        made = run(Spoil(), given)
        assert made.texts() == given.texts() == module().texts()


def test_a_module_pass_has_a_module_of_its_own(runner: Runner):
    for run in runs_of(runner):
        given = module()
        made = run(Sequential([Clear(), DropNops()]), given)
        assert made.texts() == ["a: ", "c: add mul"]
        assert given.texts() == module().texts()
        with pytest.raises(ValueError, match="after all"):
            run(Sequential([DropNops(), Clear("after all")]), given)
        assert given.texts() == module().texts()
        assert all(one.parent is given for one in given.functions.values())


def test_nothing_that_comes_out_is_shared(runner: Runner):
    for run in runs_of(runner):
        given = module(knows=False)
        given.functions["a"].callees = given.functions["b"].callees
        made = run(DropNops(), given)
        made.functions["a"].callees.append("one")
        assert made.functions["b"].callees == given.functions["b"].callees == []


def test_a_function_that_was_not_changed_counts_as_unchanged():
    given = module()
    given.functions["b"].ops.clear()
    adapter = parpass.transform.adapter_of(given, "test")
    mutability: Any = adapter.mutability

    def drop(func: Any) -> Any:
        return DropNops().transform_function(func, given, PassContext.current())

    for name, function in given.functions.items():
        made = mutability.call("DropNops", name, function, given, drop)
        assert (made is function) is (name == "b")
        assert mutability.call("DropNops", name, made, given, drop) is made


def defined(text: str) -> list[Any]:
    return list(ast.parse(text).body)


@pytest.mark.usefixtures("_as_it_was")
def test_a_dict_is_a_module(runner: Runner):
    register_adapter(dict, FunctionDefs())
    text = "\n".join(f"def f{at}(x):\n    return x + (1 + {at})" for at in range(4))
    expected = [f"    return x + {1 + at}" for at in range(4)]
    for run in runs_of(runner):
        given: dict[str, Any] = {one.name: one for one in defined(text)}
        made = run(Sequential([Fold(), Fold()]), given)
        assert isinstance(made, dict)
        functions: list[Any] = list(cast("dict[str, Any]", made).values())
        assert [ast.unparse(one).splitlines()[1] for one in functions] == expected
        assert list(map(ast.dump, given.values())) == list(map(ast.dump, defined(text)))


def test_isolated_runs_and_runs_with_a_cache_do_the_same(tmp_path: Path):
    given = module()
    with open_runner(workers=1, isolated=True) as isolated:
        assert isolated.run_sync(given, PASSES).texts() == EXPECTED
    with open_runner(workers=0, cache=FunctionCache()) as cached:
        for _ in range(2):
            made = cached.run_sync(given, PASSES)
            assert made.texts() == EXPECTED
            made.functions["a"].ops.clear()
    assert given.texts() == module().texts()


@analysis
def length(func: Fn, ctx: PassContext) -> int:
    return len(func.ops)


class AskTwice(FunctionPass):
    pass_info = PassInfo(0, "AskTwice")

    def transform_function(self, func: Fn, mod: Mod, ctx: PassContext) -> Fn:
        before = ctx.get_analysis(length, func)
        func.ops.pop()
        func.note = f"{before} {ctx.get_analysis(length, func)}"
        return func


def test_an_analysis_of_a_function_that_was_changed_is_computed_again():
    assert AskTwice()(module()).functions["a"].note == "3 2"


def test_what_cannot_be_copied_is_told_and_given_as_it_is():
    given = module(knows=False)
    given.functions["b"].lock = threading.Lock()
    with pytest.warns(
        AdapterWarning, match=r"function 'b' can be changed in place, an"
    ):
        made = DropNops()(given)
    assert [len(one.ops) for one in given.functions.values()] == [3, 2, 3]
    assert [len(one.ops) for one in made.functions.values()] == [2, 2, 2]


def test_the_attribute_that_leads_to_other_functions_is_named():
    given = module(knows=False)
    given.functions["a"].callees.append(given.functions["c"])
    with pytest.warns(AdapterWarning, match=r"leads to function 'c' by 'Fn\.callees'"):
        DropNops()(given)
    with pytest.warns(AdapterWarning, match=r"leads to function 'b' by 'Fn\.parent'"):
        DropNops()(module(DraggingMod))


def test_to_pickle_one_function_does_not_pickle_the_module():
    given = Mod({f"f{at}": Fn(f"f{at}", *["nop"] * 20) for at in range(50)})
    for function in given.functions.values():
        function.parent = given
    adapter = parpass.transform.adapter_of(given, "test")
    sizes = [
        len(adapter.encode_function(one, lambda _: None))
        for one in adapter.functions(given).values()
    ]
    assert max(sizes) < 1_000


def test_the_report_says_what_copies_cost():
    given = Mod({f"f{at}": Fn(f"f{at}", *["nop"] * 20) for at in range(50)})
    with open_runner(workers=0) as runner:
        runner.run_sync(given, [DropNops()])
        report = runner.last_report
        assert report is not None
        assert 0 < report.copying < report.seconds
        assert "Copying functions that passes may change took" in str(report)


@pytest.mark.usefixtures("_as_it_was")
def test_who_says_that_functions_are_values_pays_nothing():
    class Stated(Adapter):
        mutability = None

    register_adapter(Mod, Stated())
    given = module()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = DropNops()(given)
    assert made.functions["a"] is given.functions["a"]


@pytest.mark.slow
def test_the_contract_check_finds_a_pass_that_changes_another_function(runner: Runner):
    context = PassContext(config={"parpass.check_contract": True})
    made = runner.run_sync(module(), [Append(), DropNops()], context=context)
    assert made.texts() == [f"{name}: add mul add mul" for name in "abc"]
    with pytest.raises(ContractError, match="changed function 'b' of its input in"):
        runner.run_sync(module(), [Spoil()], context=context)


class InPlaceMod(Mod):
    """A module of the adapter below."""


class InPlace(Adapter):
    def with_functions(self, mod: Any, functions: Any) -> Any:
        mod.functions = functions
        return mod


@pytest.mark.usefixtures("_as_it_was")
def test_with_functions_that_changes_its_module_is_refused_and_changes_nothing(
    runner: Runner,
):
    register_adapter(InPlaceMod, InPlace())
    for run in runs_of(runner):
        given = module(InPlaceMod)
        before = given.texts()
        words = "expected a new module.* from 'with_functions', got InPlaceMod; put the"
        with pytest.raises(AdapterError, match=words):
            run(Sequential(PASSES), given)
        assert given.texts() == before
