"""Variables that are bound twice, or used outside of what binds them, are errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.diagnostic import Span
from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.types import TensorType
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, Var, const
from parpass.relay.transform import InferType
from parpass.relay.type_inference.infer import infer_type
from tests.support.profiles import examples

SCALAR = TensorType((), "float32")
COND = relay.var("c", "bool")


def at(line: int) -> Span:
    return Span("here", line, line, 1, 2)


def refused(body: Expr) -> str:
    mod = IRModule({"main": Function((COND,), body)})
    with pytest.raises(DiagnosticError) as caught:
        InferType()(mod)
    with pytest.raises(DiagnosticError):
        infer_type(body)
    (error,) = caught.value.diagnostics
    return f"{error.span}: {error.message}"


def one(value: float = 1.0) -> Expr:
    return const(value)


@pytest.mark.parametrize("annotation", [None, SCALAR])
def test_a_variable_that_two_lets_bind_is_an_error_with_both_places(
    annotation: TensorType | None,
) -> None:
    v = Var("v", annotation)
    first = Let(v, one(), relay.add(v, v), at(1))
    second = Let(v, one(2.0), relay.add(v, v), at(2))
    assert refused(If(COND, first, second)) == (
        "here:2:1: function 'main': expected variable 'v' to be bound once, got it "
        "bound by a `let` at here:1:1 and by a `let` at here:2:1"
    )


@pytest.mark.parametrize("annotation", [None, SCALAR])
def test_a_use_outside_of_the_let_is_an_error_with_both_places(
    annotation: TensorType | None,
) -> None:
    v = Var("v", annotation)
    bound = Let(v, one(), v, at(1))
    user = Call(relay.op.get("negative"), (v,), span=at(2))
    expected = (
        "here:2:1: function 'main': expected variable 'v' to be used inside of what "
        "binds it, a `let` at here:1:1, got a use outside"
    )
    assert refused(Tuple((bound, user))) == expected
    assert refused(Let(v, user, v, at(1))) == expected
    shared = Let(v, one(), user, at(1))
    assert refused(Tuple((shared, user))) == expected


def test_a_parameter_is_bound_once_and_used_in_its_function() -> None:
    p = Var("p", SCALAR)
    function = Function((p,), relay.negative(p))
    called = Call(function, (one(),))
    assert "bound by a function and by a function" in refused(
        Tuple((Call(Function((p, p), p), (one(), one())), one()))
    )
    assert "binds it, a function, got a use outside" in refused(Tuple((called, p)))
    rebound = Call(Function((p,), Let(p, one(), p)), (one(),))
    assert "expected variable 'p' to be bound once" in refused(rebound)


@st.composite
def tangles(draw: st.DrawFn) -> Expr:
    """Give expressions whose nodes and variables are used anywhere."""
    names = [Var(f"v{number}", SCALAR) for number in range(3)]
    made: list[Expr] = [*names, one()]
    pick = st.sampled_from
    for _ in range(draw(st.integers(1, 9))):
        value, body = draw(pick(made[-5:])), draw(pick(made[-3:]))
        var = draw(pick(names))
        made.append(
            draw(
                pick(
                    [
                        Let(var, value, body),
                        Let(var, value, body),
                        relay.add(value, body),
                        If(COND, value, body),
                        Call(Function((var,), body), (value,)),
                    ]
                )
            )
        )
    return made[-1]


@given(body=tangles())
@examples(7.5)
def test_inference_refuses_just_what_is_not_well_formed(body: Expr) -> None:
    function = Function((COND,), body)
    try:
        infer_type(function)
    except DiagnosticError:
        assert not well_formed(function)
    else:
        assert well_formed(function)
