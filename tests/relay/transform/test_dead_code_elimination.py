from __future__ import annotations

import numpy as np
import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import assert_structural_equal
from parpass.ir.types.ty import FuncType, TensorType, TupleType
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
)
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import DeadCodeElimination
from parpass.relay.transform.dead_code_elimination import eliminate_dead_code
from parpass.relay.typing.infer import infer_type
from parpass.transform import PassContext
from tests.support.deep import DEPTHS
from tests.support.docs import shows
from tests.support.effects import effect as effect_on
from tests.support.effects import read

VECTOR = TensorType((3,))


x = relay.var("x", VECTOR)


def effect() -> Call:
    return effect_on(x)


def with_effect() -> Function:
    p = relay.var("p", VECTOR)
    return Function((p,), effect_on(p))


def lets(*bindings: tuple[Var, Expr], body: Expr) -> Expr:
    for var, value in reversed(bindings):
        body = Let(var, value, body)
    return body


def test_the_documented_program_loses_its_dead_let() -> None:
    dead, alive = relay.var("dead"), relay.var("alive")
    rest = Let(alive, relay.negative(x), alive)
    before = Function((x,), Let(dead, relay.add(x, x), rest))
    expected = Function((x,), rest)
    assert_structural_equal(eliminate_dead_code(before), expected)
    programs = IRModule.from_expr(before), IRModule.from_expr(expected)
    assert shows(DeadCodeElimination, *programs)


def test_the_pass_works_on_every_function_and_counts() -> None:
    a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
    body = lets((a, x), (b, relay.negative(a)), (c, x), body=relay.exp(c))
    mod = IRModule({"f": Function((x,), body), "g": Function((x,), body)})
    context = PassContext()
    with context:
        result = DeadCodeElimination(inline_once=True)(mod)
    expected = infer_type(Function((x,), relay.exp(x)))
    assert_structural_equal(result["f"], expected)
    assert_structural_equal(result["g"], expected)
    assert context.statistics["DeadCodeElimination"] == {"dropped": 4, "inlined": 2}


def test_it_is_a_function_pass_of_level_1_7_13() -> None:
    info = DeadCodeElimination().info
    assert (info.opt_level, tuple(info.required)) == (1, ())


def test_a_chain_that_ends_in_dead_code_is_dead_12_1() -> None:
    a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
    before = lets((a, x), (b, relay.exp(a)), (c, relay.add(b, a)), body=x)
    assert eliminate_dead_code(before) is x


def test_a_dead_recursive_closure_is_dropped_12_1() -> None:
    f, n = relay.var("f"), relay.var("n", VECTOR)
    assert eliminate_dead_code(Let(f, Function((n,), f(n), VECTOR), x)) is x


def test_a_live_recursive_closure_is_kept_12_1() -> None:
    f, n = relay.var("f"), relay.var("n", VECTOR)
    program = Let(f, Function((n,), f(n), VECTOR), f(x))
    assert eliminate_dead_code(program, inline_once=True) is program


def nested(*, dead: bool) -> Function:
    """Return a program with places for dead code in each kind of scope."""

    def put(result: Expr) -> Expr:
        return Let(relay.var("dead"), relay.exp(x), result) if dead else result

    v, cond = relay.var("v"), relay.var("c", "bool")
    branches = If(cond, put(x), put(relay.negative(x)))
    body = Tuple((v, v, branches, Function((), put(x))))
    return Function((x, cond), Let(v, put(relay.tanh(x)), body))


def test_dead_code_goes_from_branches_closures_and_values() -> None:
    result = eliminate_dead_code(nested(dead=True))
    assert_structural_equal(result, nested(dead=False))


def test_a_value_that_is_used_once_is_inlined_when_asked_12_1() -> None:
    a, b = relay.var("a"), relay.var("b")
    before = lets((a, relay.exp(x)), (b, relay.negative(a)), body=relay.add(b, b))
    expected = lets((b, relay.negative(relay.exp(x))), body=relay.add(b, b))
    inlined = eliminate_dead_code(before, inline_once=True)
    assert_structural_equal(inlined, expected, map_free_vars=True)
    assert eliminate_dead_code(before) is before


def test_a_use_in_a_shared_node_is_more_than_one_12_1() -> None:
    a = relay.var("a")
    shared = relay.negative(a)
    before = Let(a, relay.exp(x), relay.add(shared, shared))
    assert eliminate_dead_code(before, inline_once=True) is before


def test_a_value_is_not_inlined_into_a_closure() -> None:
    a, f, b = relay.var("a"), relay.var("f"), relay.var("b")
    inner = lets((b, relay.tanh(x)), body=relay.add(a, b))
    program = lets((a, relay.exp(x)), (f, Function((), inner)), body=Tuple((f(), f())))
    done = Function((), relay.add(a, relay.tanh(x)))
    expected = lets((a, relay.exp(x)), (f, done), body=Tuple((f(), f())))
    assert_structural_equal(eliminate_dead_code(program, inline_once=True), expected)


def test_a_call_of_a_function_of_which_nothing_is_known_is_kept() -> None:
    callable_ = FuncType((VECTOR,), VECTOR)
    p = relay.var("p", callable_)
    a, b = relay.var("a"), relay.var("b")
    pair = relay.var("pair", TupleType((callable_, VECTOR)))
    held = relay.TupleGetItem(pair, 0)
    for callee in (p, held, GlobalVar("missing")):
        program = lets((a, Call(callee, (x,))), body=x)
        assert eliminate_dead_code(program, inline_once=True) is program
        assert eliminate_dead_code(program, ignore_impurity=True) is x
    unused = lets((b, Function((), p(x))), body=x)
    assert eliminate_dead_code(unused) is x


def test_effects_are_dropped_when_asked() -> None:
    a, b = relay.var("a"), relay.var("b")
    program = lets((a, effect()), (b, effect()), body=relay.negative(b))
    found = eliminate_dead_code(program, inline_once=True, ignore_impurity=True)
    assert_structural_equal(found, relay.negative(effect()))


def test_a_use_in_dead_code_does_not_hinder_inlining_12_1() -> None:
    a, dead = relay.var("a"), relay.var("dead")
    before = lets((a, relay.exp(x)), (dead, relay.tanh(a)), body=relay.negative(a))
    inlined = eliminate_dead_code(before, inline_once=True)
    assert_structural_equal(inlined, relay.negative(relay.exp(x)))


def test_an_unchanged_program_is_the_same_object() -> None:
    a = relay.var("a")
    program = Function((x,), Let(a, relay.exp(x), relay.add(a, a)))
    assert eliminate_dead_code(program) is program
    assert eliminate_dead_code(program, inline_once=True) is program


@pytest.mark.parametrize("inline_once", [False, True])
def test_a_call_of_a_stateful_operator_is_kept_in_its_place(inline_once: bool) -> None:
    a, b = relay.var("a"), relay.var("b")
    program = lets((a, effect()), (b, effect()), body=relay.negative(a))
    assert eliminate_dead_code(program, inline_once=inline_once) is program


def test_what_a_kept_call_uses_is_kept() -> None:
    a, b, dead = relay.var("a"), relay.var("b"), relay.var("dead")
    kept = lets((a, relay.exp(x)), (b, effect_on(a)), body=x)
    program = Let(dead, relay.exp(x), kept)
    assert eliminate_dead_code(program) is kept


def test_a_value_computed_from_an_effect_is_dropped() -> None:
    a, dead = relay.var("a"), relay.var("dead")
    program = lets((a, effect()), (dead, relay.negative(a)), body=x)
    expected = lets((a, effect()), body=x)
    assert_structural_equal(eliminate_dead_code(program), expected)


def test_a_closure_with_effects_is_dropped_unless_it_is_called() -> None:
    f, a = relay.var("f"), relay.var("a")
    called = lets((f, with_effect()), (a, f(x)), body=x)
    assert eliminate_dead_code(called) is called
    assert eliminate_dead_code(Let(f, with_effect(), x)) is x


def holding(closure: Function, holder: str) -> Expr:
    v = relay.var("v")
    return {
        "tuple": Tuple((x, closure)),
        "if": If(relay.const(value=True), closure, closure),
        "let": Let(v, closure, v),
        "call": Call(Function((), closure), ()),
    }[holder]


@pytest.mark.parametrize("holder", ["tuple", "if", "let", "call"])
def test_a_call_of_what_may_hold_a_closure_with_effects_is_kept(holder: str) -> None:
    held, a = relay.var("held"), relay.var("a")
    call = Call(relay.TupleGetItem(held, 1), (x,))
    program = lets((held, holding(with_effect(), holder)), (a, call), body=x)
    assert eliminate_dead_code(program) is program


def test_a_call_of_a_global_with_effects_is_kept_others_are_dropped() -> None:
    noisy, wrapper, quiet = GlobalVar("noisy"), GlobalVar("wrapper"), GlobalVar("quiet")
    p, q = relay.var("p", VECTOR), relay.var("q", VECTOR)
    mod = IRModule(
        {
            noisy: with_effect(),
            wrapper: Function((p,), noisy(p)),
            quiet: Function((q,), q),
        }
    )
    a, b = relay.var("a"), relay.var("b")
    program = lets((a, wrapper(x)), (b, quiet(x)), body=x)
    expected = lets((a, wrapper(x)), body=x)
    assert_structural_equal(eliminate_dead_code(program, mod), expected)


def test_elimination_does_not_change_the_meaning() -> None:
    a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
    body = lets(
        (a, relay.exp(x)), (b, relay.tanh(a)), (c, relay.negative(a)), body=c - a
    )
    function = Function((x,), body)
    value = np.linspace(-1, 1, 3, dtype="float32")
    result = eliminate_dead_code(function, inline_once=True)
    np.testing.assert_array_equal(
        np.asarray(evaluate(result, [value])), np.asarray(evaluate(function, [value]))
    )


@pytest.mark.slow
@pytest.mark.parametrize("inline_once", [False, True])
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_long_chain_of_lets(inline_once: bool, depth: int) -> None:
    alive = [relay.var(f"v{at}") for at in range(depth)]
    chain = lets(
        *(
            (var, relay.negative(alive[at - 1] if at else x))
            for at, var in enumerate(alive)
        ),
        body=alive[-1],
    )
    dead = lets(*((relay.var("dead"), relay.exp(x)) for _ in alive), body=chain)
    result = eliminate_dead_code(dead, inline_once=inline_once)
    if not inline_once:
        assert result is chain
        return
    expected: Expr = x
    for _ in alive:
        expected = relay.negative(expected)
    assert_structural_equal(result, expected)


def test_what_only_reads_is_dropped_if_unused_and_else_stays_in_its_place() -> None:
    a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
    unused = lets((a, read(x)), (b, effect()), body=x)
    expected = lets((b, effect()), body=x)
    assert_structural_equal(eliminate_dead_code(unused), expected)
    used = lets((a, read(x)), (b, effect()), (c, relay.negative(a)), body=c)
    after = eliminate_dead_code(used, inline_once=True)
    expected = lets((a, read(x)), (b, effect()), body=relay.negative(a))
    assert_structural_equal(after, expected)


def test_writes_go_to_a_reference_that_is_neither_read_nor_handed_on() -> None:
    r, s, u, v = map(Var, "rsuv")
    writes = [(r, RefCreate(x)), (u, RefWrite(r, x)), (v, RefWrite(r, relay.exp(x)))]
    assert eliminate_dead_code(lets(*writes, body=x)) is x
    read = lets(*writes, body=RefRead(r))
    assert eliminate_dead_code(read) is read
    other = lets(*writes, (s, RefCreate(r)), (Var("w"), RefWrite(s, r)), body=x)
    assert eliminate_dead_code(other) is x
    handed_on = lets(*writes, (s, RefCreate(r)), body=s)
    assert eliminate_dead_code(handed_on) is handed_on
