"""Programs that bind a variable twice keep their meaning, or are refused clearly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import DiagnosticError, EvaluationError, ParseError
from parpass.ir.module import IRModule
from parpass.ir.node import bindings, post_order
from parpass.ir.types import TensorType
from parpass.relay import transform
from parpass.relay.adt import Clause, Match, PatternTuple, PatternVar
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, Var, const
from parpass.relay.functor import ExprMutator
from parpass.relay.interpreter.interpreter import evaluate
from parpass.runner import Runner
from tests.support.relay.higher_order import higher_order_modules
from tests.support.relay.matching import matching_modules
from tests.support.relay.meaning import MAX_CALLS, flattened
from tests.support.relay.pass_table import DERIVING, PASSES
from tests.support.relay.programs import arguments, modules
from tests.support.runner.pooled import run_pooled

F32 = TensorType((), "float32")
X, A, F = Var("x", F32), Var("a"), Var("f")
ONE, TWO = const(1.0), const(2.0)
SHARED = relay.add(A, const(0.5))
CALLS_BETWEEN = Let(A, TWO, relay.add(Call(F, ()), A))

TWICE: dict[str, Expr] = {
    "a let in a let": Let(A, relay.add(X, ONE), Let(A, relay.add(A, TWO), A)),
    "a let in the value": Let(A, Let(A, relay.add(X, ONE), A), relay.add(A, TWO)),
    "a let of a parameter": Let(X, relay.add(X, ONE), relay.add(X, X)),
    "lets of constants": Let(A, ONE, relay.add(Let(A, TWO, relay.add(A, X)), A)),
    "lets beside each other": relay.add(Let(A, ONE, A), Let(A, TWO, relay.add(A, X))),
    "a let in a branch": Let(
        A, ONE, If(relay.less(X, TWO), A, Let(A, TWO, relay.add(A, X)))
    ),
    "a node of two scopes": relay.add(Let(A, ONE, SHARED), Let(A, TWO, SHARED)),
    "parameters": relay.add(
        Function((A,), relay.add(A, ONE))(X), Function((A,), relay.add(A, TWO))(X)
    ),
    "a closure called where its variable is another": Let(
        A, ONE, Let(F, Function((), relay.add(A, X)), CALLS_BETWEEN)
    ),
    "a pattern that has it twice": Match(
        Tuple((X, TWO)), [Clause(PatternTuple([PatternVar(A), PatternVar(A)]), A)]
    ),
    "a pattern": Match(
        Tuple((X, TWO)),
        [Clause(PatternTuple([PatternVar(X), PatternVar(A)]), relay.add(X, A))],
    ),
}


class _Merged(ExprMutator):
    """Makes one variable of two, also where they are bound."""

    def __init__(self, kept: Var, dropped: Var) -> None:
        super().__init__()
        self.memo_map[dropped] = kept


@st.composite
def twice_bound(draw: st.DrawFn) -> IRModule:
    """Give modules of which the first function binds a variable twice."""
    mod = draw(modules(2) | matching_modules() | higher_order_modules(2))
    function = mod["f0"]
    bound = [var for node in post_order(function) for var in bindings(node)]
    pairs = [
        (a, b)
        for a in bound
        for b in bound
        if a is not b and a.type_annotation == b.type_annotation
    ]
    assume(pairs)
    kept, dropped = draw(st.sampled_from(pairs))
    mod["f0"] = _Merged(kept, dropped).visit(function)
    return mod


def is_kept_or_refused(name: str, mod: IRModule) -> bool:
    """Return whether a pass refuses a module; if not, it keeps the first value."""
    a_pass = PASSES[name]() if name in PASSES else getattr(transform, name)()
    try:
        after = a_pass(mod)
    except DiagnosticError as error:
        return "to be bound once, got it bound by" in str(error)
    expected = by_scopes(mod)
    known = value_of(mod) if expected is None else expected
    assert value_of(after) in ("refused", known)
    return False


def value_of(mod: IRModule) -> Any:
    """Return the value of the first function, or that it was refused."""
    function = mod["f0"]
    try:
        found = evaluate(function, arguments(function), mod, max_calls=MAX_CALLS)
    except EvaluationError as error:
        return "refused" if "to be bound once" in str(error) else str(error)
    return [(array.dtype, array.tobytes()) for array in flattened(found)]


def by_scopes(mod: IRModule) -> Any:
    """Return the value of the text, in which a name is that of its innermost binding.

    None if there is no such text: a node of two scopes has no place in one.
    """
    try:
        return value_of(relay.parse(mod.astext()))
    except ParseError:
        return None


@pytest.mark.parametrize("body", TWICE.values(), ids=TWICE)
def test_each_pass_keeps_the_meaning_or_refuses(body: Expr) -> None:
    mod = IRModule({"f0": Function((X,), body)})
    refused = {
        name for name in PASSES.keys() | DERIVING if is_kept_or_refused(name, mod)
    }
    assert refused == (PASSES.keys() | DERIVING) - {"RemoveUnusedFunctions"}


@given(twice_bound(), st.sampled_from(sorted(PASSES)))
def test_any_program_keeps_its_meaning_or_is_refused(mod: IRModule, name: str) -> None:
    is_kept_or_refused(name, mod)


@pytest.mark.parametrize("body", TWICE.values(), ids=TWICE)
def test_the_interpreter_goes_by_scopes_or_refuses(body: Expr) -> None:
    mod = IRModule({"f0": Function((X,), body)})
    assert value_of(mod) in ("refused", by_scopes(mod))


def test_parameters_of_one_function_are_several_variables() -> None:
    mod = IRModule({"f0": Function((X, X), X)})
    assert value_of(mod) == "refused"
    assert by_scopes(mod) is None


def test_variables_of_functions_of_their_own_are_no_fault_of_the_interpreters() -> None:
    assert evaluate(Function((X,), TWICE["parameters"]), [3.0]) == 9


@pytest.mark.parametrize("name", ["FoldConstant", "ToANormalForm"])
def test_errors_say_in_which_function(name: str) -> None:
    mod = IRModule({"good": Function((X,), X)})
    mod["bad"] = Function((X,), TWICE["lets of constants"])
    with pytest.raises(
        DiagnosticError, match="function 'bad': expected variable 'a' to"
    ):
        PASSES[name]()(mod)


def test_workers_refuse_what_serial_runs_refuse(runner: Runner) -> None:
    mod = IRModule({"f0": Function((X,), TWICE["lets of constants"])})
    with pytest.raises(DiagnosticError) as serial:
        transform.FoldConstant()(mod)
    with pytest.raises(DiagnosticError) as parallel:
        run_pooled(runner, transform.FoldConstant(), mod)
    assert str(parallel.value) == str(serial.value)
