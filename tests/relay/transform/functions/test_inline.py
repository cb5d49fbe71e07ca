from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structure.structural import assert_structural_equal
from parpass.ir.types.ty import TensorType, TypeVar
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Var, const, var
from parpass.relay.transform import Inline
from parpass.transform import PassContext
from tests.support.deep import DEEPEST
from tests.support.docs import shows
from tests.support.effects import effect
from tests.support.higher_order import higher_order_modules
from tests.support.meaning import assert_keeps_meaning

VECTOR = TensorType((3,))
x = var("x", VECTOR)
DOUBLE, MAIN = GlobalVar("double"), GlobalVar("main")


def doubling(**attrs: object) -> Function:
    p = var("x", VECTOR)
    return Function((p,), relay.add(p, p), VECTOR, attrs={"Inline": 1, **attrs})


def module(body: Expr, double: Function | None = None) -> IRModule:
    callee = doubling() if double is None else double
    return IRModule({DOUBLE: callee, MAIN: Function((x,), body)})


def test_the_documented_program_is_inlined() -> None:
    p, y = var("x", VECTOR), var("y", VECTOR)
    double = Function((p,), relay.add(p, p), attrs={"Inline": 1})
    main = Function((y,), DOUBLE(relay.exp(y)))
    before = IRModule({DOUBLE: double, MAIN: main})
    once = relay.exp(y)
    expected = IRModule({MAIN: Function((y,), relay.add(once, once))})
    with PassContext() as context:
        after = Inline()(before)
    assert_structural_equal(after, expected)
    assert context.statistics["InlineGlobals"] == {"inlined": 1}
    assert shows(Inline, before, after)


def test_it_is_a_module_pass_of_level_1_named_inline_globals_7_13() -> None:
    info = Inline().info
    assert (info.name, info.opt_level, tuple(info.required)) == ("InlineGlobals", 1, ())


def test_each_call_has_variables_of_its_own() -> None:
    p, v = var("x", VECTOR), Var("v")
    double = Function((p,), Let(v, relay.exp(p), v), attrs={"Inline": 1})
    after = Inline()(module(DOUBLE(DOUBLE(x)), double))
    assert relay.analysis.well_formed(after)
    assert list(after.functions_by_name) == ["main"]


def test_callees_are_inlined_into_callees_first() -> None:
    middle, p = GlobalVar("middle"), var("p", VECTOR)
    wrap = Function((p,), relay.exp(DOUBLE(p)), attrs={"Inline": 1})
    mod = IRModule({MAIN: Function((x,), middle(x)), middle: wrap, DOUBLE: doubling()})
    expected = IRModule({MAIN: Function((x,), relay.exp(relay.add(x, x)))})
    assert_structural_equal(Inline()(mod), expected)


def test_recursive_functions_stay_whatever_their_marks() -> None:
    even, odd = GlobalVar("even"), GlobalVar("odd")
    p, q = var("p", VECTOR), var("q", VECTOR)
    mod = IRModule(
        {
            even: Function((p,), odd(p), VECTOR, attrs={"Inline": 1}),
            odd: Function((q,), even(q), VECTOR, attrs={"Inline": 1}),
            MAIN: Function((x,), even(x)),
        }
    )
    after = Inline()(mod)
    assert_structural_equal(after, mod)


def test_a_reference_becomes_a_closure_that_keeps_its_marks() -> None:
    after = Inline()(module(relay.Tuple((DOUBLE, DOUBLE(x)))))
    body = after["main"].body
    assert isinstance(body, relay.Tuple)
    closure = body.fields[0]
    assert isinstance(closure, Function)
    assert_structural_equal(closure, doubling())


@pytest.mark.parametrize("mark", ["Primitive", "Compiler"])
def test_functions_made_for_a_device_are_called_as_closures(mark: str) -> None:
    after = Inline()(module(DOUBLE(x), doubling(**{mark: "made"})))
    body = after["main"].body
    assert isinstance(body, Call)
    assert isinstance(body.op, Function)
    assert body.op.has_nonzero_attr(mark)


def test_polymorphic_functions_are_called_as_closures() -> None:
    t = TypeVar("T")
    p = Var("p", t)
    same = Function((p,), p, t, (t,), attrs={"Inline": 1})
    after = Inline()(module(DOUBLE(x), same))
    expected = Function((x,), same(x))
    assert_structural_equal(after["main"], expected)


def test_an_argument_with_an_effect_happens_once_even_if_unused() -> None:
    p, bound = var("p", VECTOR), Var("p", VECTOR)
    ignoring = Function((p,), const(1.0), attrs={"Inline": 1})
    after = Inline()(module(DOUBLE(effect(x)), ignoring))
    expected = Function((x,), Let(bound, effect(x), const(1.0)))
    assert_structural_equal(after["main"], expected)


def test_without_marked_callees_the_module_is_the_same_object() -> None:
    mod = module(DOUBLE(x), doubling().without_attr("Inline"))
    assert Inline()(mod) is mod
    entry = IRModule({MAIN: Function((x,), relay.exp(x), attrs={"Inline": 1})})
    assert Inline()(entry) is entry


def calling_twice(levels: int) -> IRModule:
    mod = module(GlobalVar(f"f{levels}")(x))
    mod["f0"] = doubling()
    for at in range(levels):
        p, callee = var("p", VECTOR), GlobalVar(f"f{at}")
        mod[f"f{at + 1}"] = Function((p,), callee(callee(p)), attrs={"Inline": 1})
    return mod


@pytest.mark.stress
def test_functions_that_double_with_each_level_are_inlined_up_to_a_limit() -> None:
    with pytest.raises(SizeLimitError, match=r"at most 1000000 .* double") as caught:
        Inline()(calling_twice(60))
    assert caught.value.__notes__[0] == "in pass 'InlineGlobals'"


def test_the_limit_is_an_option() -> None:
    with PassContext(config={"relay.max_copied_nodes": 5_000}):
        assert len(post_order(Inline()(calling_twice(8))["main"])) > 2**8
        with pytest.raises(SizeLimitError, match=r"at most 5000 nodes .* got .* 'f1?"):
            Inline()(calling_twice(60))


@pytest.mark.stress
def test_calls_may_be_nested_to_any_depth() -> None:
    body: Expr = x
    for _ in range(DEEPEST):
        body = DOUBLE(body)
    expected: Expr = x
    for _ in range(DEEPEST):
        expected = relay.add(expected, expected)
    after = Inline()(module(body))
    assert_structural_equal(after["main"], Function((x,), expected))


@pytest.mark.slow
@given(mod=higher_order_modules(), marked=st.lists(st.booleans(), min_size=4))
@settings(deadline=None, max_examples=30)
def test_it_keeps_the_meaning(mod: IRModule, marked: list[bool]) -> None:
    for var_, mark in zip(mod.get_global_vars(), marked, strict=False):
        if mark:
            mod[var_] = mod[var_].with_attr("Inline", 1)
    assert_keeps_meaning(Inline(), mod)
