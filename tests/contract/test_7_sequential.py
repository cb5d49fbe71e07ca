"""Contract section 7: Sequential, required passes, and the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parpass import relay
from parpass.errors import UndefinedPassError, UnknownPassError
from parpass.function_registry import register_func
from parpass.ir.module import IRModule
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    Sequential,
    create_pass,
    module_pass,
    register_pass,
    registered_passes,
)
from tests.contract.marking import Mark, MarkAll, Run, marked, marks, module
from tests.support.watching import Log, vetoing


@register_pass("relay._transform.ContractNeeded")
def needed() -> Pass:
    return Mark("Needed", 9, ["ContractDeeper"])


@register_pass("contract.transform.ContractDeeper")
def deeper() -> Pass:
    return Mark("Deeper")


@register_pass("transform.ContractBoth")
def both() -> Pass:
    return Sequential([Mark("Both", 0, ["ContractDeeper"])], name="both")


@register_pass("relay._transform.ContractBoth")
def shadowed() -> Pass:
    return Mark("Shadowed")


@register_pass("transform.ContractDecorated")
@module_pass(opt_level=1)
def decorated(mod: IRModule, ctx: PassContext) -> IRModule:
    return IRModule({v: marked(f, "Decorated") for v, f in mod.functions.items()})


def needing(*names: str, kind: Callable[..., Pass] = Mark) -> Sequential:
    """Return a pipeline of one pass that requires others."""
    return Sequential([kind("A", 0, names)])


def test_7_1_the_constructor_takes_these_arguments(run: Run):
    empty = Sequential()
    assert (empty.info.name, empty.info.opt_level, empty.info.required) == (
        *("sequential", 0),
        (),
    )
    mod = module()
    assert run(empty, mod) is mod
    named = Sequential([Mark()], 2, "named", ["a"])
    assert (named.info.name, named.info.opt_level) == ("named", 2)
    assert named.info.required == ("a",)
    for wrong in ({"passes": {Mark()}}, {"required": "a"}):
        arguments: Any = wrong
        with pytest.raises(TypeError, match="expected a list"):
            Sequential(**arguments)


def test_7_2_items_must_be_passes_and_none_fails_when_run(run: Run):
    with pytest.raises(TypeError, match="expected passes"):
        Sequential([print])  # pyright: ignore[reportArgumentType]
    holed = Sequential([Mark(), None])
    with pytest.raises(UndefinedPassError, match="holds None"):
        run(holed, module())


def test_7_3_the_output_of_each_feeds_the_next(run: Run):
    passes = [Mark("A"), Mark("B", 9), MarkAll("C", 0, ["ContractDeeper"]), Mark("D")]
    assert marks(run(Sequential(passes), module())) == "A Deeper C D"


def test_7_4_only_direct_children_are_asked_whether_they_are_enabled(run: Run):
    def ran(**settings: Any) -> str:
        nested = Sequential([Mark("A"), Mark("B", 3)], opt_level=1)
        with PassContext(**settings):
            return marks(run(Sequential([nested, Mark("C")], opt_level=9), module()))

    assert ran() == "A C"
    assert ran(opt_level=3) == "A B C"
    assert ran(opt_level=0) == "C"
    assert ran(disabled_pass=["sequential"]) == "C"
    assert ran(required_pass=["sequential"], opt_level=0) == "A C"


def test_7_5_required_names_resolve_through_the_registry(run: Run):
    for name in ("ContractDeeper", "contract.transform.ContractDeeper"):
        assert marks(run(needing(name), module())) == "Deeper A"
    whole_key = needing("relay._transform.ContractBoth")
    assert marks(run(whole_key, module())) == "Shadowed A"
    assert marks(run(needing("ContractNeeded", "ContractBoth"), module())) == (
        "Needed Deeper Both A"
    )
    with pytest.raises(UnknownPassError, match=r"'ContractDeepr' \(required by 'A'\)"):
        run(needing("ContractDeepr"), module())


def test_7_6_passes_are_required_by_their_registered_name(run: Run):
    assert marks(run(needing("DeadCodeElimination"), module())) == "A"
    assert marks(run(needing("ContractDecorated"), module())) == "Decorated A"
    with pytest.raises(UnknownPassError) as caught:
        run(needing("ContractDecorate"), module())
    assert caught.value.nearest[0] == "ContractDecorated"
    with pytest.raises(UnknownPassError):
        run(needing("Needed"), module())  # the name of its info only


def test_7_6_passes_registered_by_hand_are_required_by_name(run: Run):
    register_func(
        "relay._transform.ContractByHand", lambda: Mark("ByHand"), override=True
    )
    assert marks(run(needing("ContractByHand"), module())) == "ByHand A"
    register_func("contract.three", lambda: 3, override=True)
    with pytest.raises(
        TypeError, match=r"gives a pass under the name 'contract\.three'"
    ):
        run(needing("contract.three"), module())


def test_7_7_a_required_pass_runs_unconditionally(run: Run):
    log = Log()
    with PassContext(disabled_pass=["Needed"], instruments=[log]):
        pipeline = Sequential([*needing("ContractNeeded").passes] * 2)
        assert marks(run(pipeline, module())) == "Needed A Needed A"
    assert log.log.count("before Needed") == 2
    with PassContext(instruments=[Log(at=vetoing("Needed"))]):
        assert marks(run(needing("ContractNeeded"), module())) == "A"


def test_7_7_it_may_be_disabled_strictly(run: Run):
    strict = {"parpass.strict_required": True}
    with PassContext(disabled_pass=["Needed"], config=strict):
        pipeline = needing("ContractNeeded", "ContractDeeper")
        assert marks(run(pipeline, module())) == "Deeper A"


def test_7_8_what_a_required_pass_requires_is_ignored(run: Run):
    assert marks(run(needing("ContractNeeded"), module())) == "Needed A"
    assert marks(run(needing("ContractBoth"), module())) == "Deeper Both A"


def test_7_9_a_pass_that_is_called_ignores_what_it_requires(run: Run):
    assert marks(run(Mark("A", 0, ["no such pass"]), module())) == "A"
    inner = Sequential([Mark("A")], required=["ContractDeeper"])
    assert marks(run(inner, module())) == "A"
    assert marks(run(Sequential([inner]), module())) == "Deeper A"


def test_7_11_its_text_lists_its_passes():
    one = Sequential([Mark("a"), Mark("b", 9)], 1, "N")
    assert str(one) == (
        "Run Sequential pass: N at the optimization level 1. "
        "The passes will be executed are: [a b ]"
    )
    assert [p.info.name for p in one.passes if p is not None] == ["a", "b"]
    assert not hasattr(one, "__len__")
    assert not hasattr(one, "__iter__")


@pytest.mark.parametrize(
    ("key", "kind", "level", "required"),
    [
        ("InferType", ModulePass, 0, ()),
        ("SimplifyInference", FunctionPass, 0, ("InferType",)),
        ("DeadCodeElimination", FunctionPass, 1, ()),
        ("RemoveUnusedFunctions", ModulePass, 1, ()),
        ("FoldConstant", FunctionPass, 2, ()),
        ("EliminateCommonSubexpr", FunctionPass, 3, ("InferType",)),
    ],
)
def test_7_13_shipped_passes_are_of_tvms_kind_level_and_needs(
    key: str, kind: type[Pass], level: int, required: tuple[str, ...]
):
    a_pass = create_pass(f"relay._transform.{key}")
    assert isinstance(a_pass, kind)
    assert isinstance(a_pass, FunctionPass) == (kind is FunctionPass)
    info = a_pass.info
    assert (info.name, info.opt_level, info.required) == (key, level, required)


def test_7_14_a_factory_gives_a_new_object_each_time():
    assert relay.transform.FoldConstant() is not relay.transform.FoldConstant()
    assert create_pass("FoldConstant") is not create_pass("FoldConstant")
    assert registered_passes()["FoldConstant"] is relay.transform.FoldConstant
