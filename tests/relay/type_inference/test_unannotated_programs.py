"""Programs that leave types open, with the types that are found, or what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import assert_structural_equal, relay
from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import FuncType, IncompleteType, TensorType, TupleType, TypeVar
from parpass.relay.expr import Call, Expr, Function, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.text.parser import parse
from parpass.relay.transform import InferType
from tests.conftest import RunnerOf
from tests.support.drawn import FUNCTIONS
from tests.support.runner.pooled import run_pooled

SOLVED = {
    "a function that calls itself": (
        """def @sum_up(%i: int32) {
             if (%i == 0) { %i } else { %i + @sum_up(%i - 1) }
           }""",
        "fn (int32) -> int32",
    ),
    "functions that call each other": (
        """def @even(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }
           def @odd(%n: int32) { if (%n == 0) { False } else { @even(%n - 1) } }""",
        "fn (int32) -> bool",
    ),
    "parameters from another function of the circle": (
        """def @f(%n) { if (%n == 0) { 1f } else { @g(%n, 2f) } }
           def @g(%m: int32, %x) { if (True) { @f(%m) } else { negative(%x) } }""",
        "fn (int32) -> float32",
    ),
    "a closure that calls itself": (
        """def @f(%n: int32) {
             let %loop = fn (%i, %k) {
               if (%i == 0) { %k(%i) } else { %loop(%i - 1, %k) }
             };
             %loop(%n, fn (%r) { (%r, 1f) })
           }""",
        "fn (int32) -> (int32, float32)",
    ),
    "a parameter from the call": (
        """def @f(%x: Tensor[(3,), float32]) {
             let %g = fn (%p) { (nn.relu(%p.0 + 1f), %p.1) };
             %g((%x, 2))
           }""",
        "fn (Tensor[(3,), float32]) -> (Tensor[(3,), float32], int32)",
    ),
    "a parameter from the result": (
        "def @f(%x) -> Tensor[(3,), float32] { exp(%x) }",
        "fn (Tensor[(3,), float32]) -> Tensor[(3,), float32]",
    ),
    "a function as a parameter": (
        "def @f(%x: int32, %g) -> bool { %g(%x) }",
        "fn (int32, fn (int32) -> bool) -> bool",
    ),
    "a polymorphic function at several types": (
        """def @f(%x: float32) { (@id(%x), @id(()), @id<int32>(1), @id(@id)(%x)) }
           def @id<A>(%x: A) -> A { %x }""",
        "fn (float32) -> (float32, (), int32, float32)",
    ),
    "a polymorphic closure bound by a let": (
        """def @f() {
             let %id = fn <A>(%x: A) -> A { %x };
             (%id(1), %id(()))
           }""",
        "fn () -> (int32, ())",
    ),
    "a polymorphic function that calls itself": (
        """def @f<A>(%c: bool, %x: A) { if (%c) { %x } else { @f(%c, %x) } }""",
        "fn <A>(bool, A) -> A",
    ),
    "composition": (
        """def @f(%x: int32) {
             @compose(fn (%a) { cast(%a, dtype="float32") }, fn (%b) { (%b, %b) })(%x)
           }
           def @compose<A, B, C>(%f: fn (A) -> B, %g: fn (B) -> C) -> fn (A) -> C {
             fn (%x: A) -> C { %g(%f(%x)) }
           }""",
        "fn (int32) -> (float32, float32)",
    ),
    "a polymorphic function where one of a single type is wanted": (
        """def @f<B>(%c: bool) -> fn (B) -> B {
             if (%c) { fn <A>(%x: A) -> A { %x } } else { fn (%z) { %z } }
           }""",
        "fn <B>(bool) -> fn (B) -> B",
    ),
    "a global function as a value": (
        """def @f(%g: fn (int32) -> int32) { if (True) { @id } else { %g } }
           def @id<A>(%x: A) -> A { %x }""",
        "fn (fn (int32) -> int32) -> fn (int32) -> int32",
    ),
    "types that annotations leave open": (
        """def @f(%x: int32) -> _ {
             let %y: (_, _) = (%x, 1f);
             let %g = fn (%z: _) -> (_, float32) { %z };
             %g(%y)
           }""",
        "fn (int32) -> (int32, float32)",
    ),
    "what is learnt later may widen": (
        """def @f(%a: Tensor[(3,), float32], %b: Tensor[(?,), float32]) {
             let %g = fn (%x) { exp(%x) };
             (%g(%a), %g(%b))
           }""",
        (
            "fn (Tensor[(3,), float32], Tensor[(?,), float32]) -> "
            "(Tensor[(?,), float32], Tensor[(?,), float32])"
        ),
    ),
    "unknown dimensions broadcast": (
        """def @f(%a: Tensor[(?, 1), float32], %b: Tensor[(5, ?), float32]) {
             if (True) { %a + %b } else { zeros(shape=[5, 7], dtype="float32") }
           }""",
        (
            "fn (Tensor[(?, 1), float32], Tensor[(5, ?), float32]) -> "
            "Tensor[(5, ?), float32]"
        ),
    ),
}


@pytest.mark.parametrize("case", SOLVED)
def test_open_types_are_found(case: str) -> None:
    text, expected = SOLVED[case]
    solved = InferType()(parse(text))
    name = next(iter(solved)).name_hint
    assert str(solved[name].checked_type) == expected
    assert solved[name].annotated_type == solved[name].checked_type


@pytest.mark.parametrize("case", SOLVED)
def test_what_was_found_is_text_and_needs_no_further_solving(case: str) -> None:
    solved = InferType()(parse(SOLVED[case][0]))
    again = InferType()(solved)
    assert all(again[name] is solved[name] for name in solved)
    assert_structural_equal(InferType()(parse(solved.astext())), solved)


WRONG = {
    "no use says what a parameter is": (
        "def @f(%p, %q: int32) { %p + %q }",
        [(8, "expected a type annotation on parameter 'p'")],
    ),
    "each parameter is an error of its own": (
        "def @f(%p, %q) { (negative(%p), %q + %p) }",
        [
            (8, "expected a type annotation on parameter 'p'"),
            (12, "expected a type annotation on parameter 'q'"),
        ],
    ),
    "a recursion without a base": (
        "def @f(%x: int32) { @f(%x) }",
        [
            (
                1,
                (
                    "expected a type annotation on the result of 'f', which calls "
                    "itself in every case: no case ends the recursion"
                ),
            )
        ],
    ),
    "a type within itself": (
        "def @f() { fn (%g) { %g(%g) } }",
        [
            (
                22,
                (
                    "call of 'g': expected a type that is not a part of itself, got a "
                    "function that takes or gives itself"
                ),
            )
        ],
    ),
    "two types for one closure": (
        "def @f(%x: float32) { let %g = fn (%p) { exp(%p) }; (%g(%x), %g(1)) }",
        [(65, "call of 'g': expected float32 for argument 1, got int32")],
    ),
    "an operator that does not take what came": (
        "def @f() { let %g = fn (%p) { nn.relu(%p) }; %g(()) }",
        [(31, "operator 'nn.relu': expected a tensor for argument 1, got ()")],
    ),
    "a projection of what came": (
        "def @f() { let %g = fn (%p) { %p.2 }; (%g((1, 2)), 1) }",
        [(31, "expected an index below 2, got 2")],
    ),
    "type arguments": (
        """def @id<A>(%x: A) -> A { %x }
def @f(%x: float32) { (@id<int8>(%x), @id<int8, int8>(%x), @id(%x, %x)) }""",
        [
            (24, "call of 'id': expected int8 for argument 1, got float32"),
            (39, "call of 'id': expected 1 type argument, got 2"),
            (60, "call of 'id': expected 1 argument, got 2"),
        ],
    ),
    "a type argument that nothing says": (
        """def @none<A>() -> fn (A) -> A { fn (%x: A) -> A { %x } }
def @f() { @none() }""",
        [(12, "call of 'none': expected type argument 'A', which nothing says")],
    ),
    "a value in place of any type": (
        "def @f(%x: int32) { fn <A>(%y: A) -> A { %x } }",
        [(21, "expected A as result, got int32")],
    ),
    "an error leaves others open, which are none": (
        """def @f(%x: Tensor[(2,), float32], %y: Tensor[(3,), float32]) {
let %g = fn (%p) { exp(%p) }; (%g(%x + %y), %g(%x * %y), abs()) }""",
        [
            (35, "operator 'add': expected shapes that broadcast"),
            (48, "operator 'multiply': expected shapes that broadcast"),
            (58, "operator 'abs': expected 1 argument, got 0"),
        ],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_and_where(case: str) -> None:
    text, expected = WRONG[case]
    with pytest.raises(DiagnosticError) as caught:
        InferType()(parse(text))
    found = [
        (one.span.column if one.span else 0, one.message.partition(": ")[2])
        for one in caught.value.diagnostics
    ]
    assert [column for column, _ in found] == [column for column, _ in expected]
    assert all(
        got.startswith(want)
        for (_, got), (_, want) in zip(found, expected, strict=True)
    )


def all_of(texts: Iterable[str]) -> IRModule:
    """Return the functions of several texts, renamed, as one module."""
    parts = [re.sub("@", f"@m{at}_", text) for at, text in enumerate(texts)]
    return parse("\n".join(parts))


def test_workers_find_the_same_types(runner_of: RunnerOf) -> None:
    mod = all_of(text for text, _ in SOLVED.values())
    found = run_pooled(runner_of(2), InferType(), mod)
    expected = InferType()(mod)
    assert_structural_equal(found, expected)
    for name in expected:
        assert found[name.name_hint].checked_type == expected[name].checked_type


def test_workers_find_the_same_errors(runner_of: RunnerOf) -> None:
    mod = all_of([*(text for text, _ in WRONG.values()), SOLVED["composition"][0]])
    with pytest.raises(DiagnosticError) as serial:
        InferType()(mod)
    with pytest.raises(DiagnosticError) as parallel:
        run_pooled(runner_of(2), InferType(), mod)
    assert str(parallel.value) == str(serial.value)
    assert parallel.value.diagnostics == serial.value.diagnostics
    count = sum(len(expected) for _, expected in WRONG.values())
    assert len(serial.value.diagnostics) == count


def test_a_type_variable_is_bound_only_inside_of_its_function() -> None:
    a = TypeVar("A")
    x, y = Var("x", a), relay.var("y", "int32")
    closure = Function((x,), x, a, (a,))
    inside = Function((Var("z", a),), y)
    mod = IRModule({"f": Function((y,), relay.Tuple((closure, inside)))})
    with pytest.raises(DiagnosticError, match="type variable 'A' is used, and no"):
        InferType()(mod)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"axis": 1.0}, "operator 'nn.softmax': expected int for 'axis', got float"),
        (
            {"axis": None},
            "operator 'nn.softmax': expected int for 'axis', got NoneType",
        ),
    ],
)
def test_attributes_of_the_wrong_kind_are_errors(
    attribute: dict[str, object], message: str
) -> None:
    op = Op.get("nn.softmax")
    assert op.attrs_type is not None
    x = relay.var("x", shape=(2, 3))
    call = Call(op, (x,), op.attrs_type(**attribute))
    with pytest.raises(DiagnosticError, match=message):
        InferType()(IRModule({"f": Function((x,), call)}))


def test_operators_have_their_argument_types_as_type_arguments() -> None:
    x, y = relay.var("x", shape=(10, 10)), relay.var("y", shape=(1, 10))
    typed = InferType()(IRModule.from_expr(relay.add(x, y)))["main"].body
    assert isinstance(typed, Call)
    assert typed.type_args == (TensorType((10, 10)), TensorType((1, 10)))


class _Bare(ExprMutator):
    """Takes from a program what can be found again."""

    def visit_function(self, fn: Function) -> Expr:
        params = [Var(param.name_hint) for param in fn.params]
        self.memo_map |= zip(fn.params, params, strict=True)
        return Function(tuple(params), self.visit(fn.body), None, fn.type_params)

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_default(call)
        assert isinstance(new, Call)
        return Call(new.op, new.args, new.attrs)


@given(FUNCTIONS)
def test_annotations_of_closures_that_are_called_are_recovered(fn: Function) -> None:
    typed = InferType()(IRModule({"main": fn}))["main"]
    bare = Function(typed.params, _Bare().visit(typed.body))
    again = InferType()(IRModule({"main": bare}))["main"]
    assert_structural_equal(again, typed)
    assert InferType()(IRModule({"main": again}))["main"] is again


@given(st.integers(1, 6), st.integers(0, 5))
def test_a_circle_of_any_length_has_the_type_of_its_base(
    length: int, base: int
) -> None:
    lines = [
        f"def @f{at}(%n) {{ if (%n == 0) {{ "
        + ("1f" if at == base % length else f"@f{(at + 1) % length}(%n)")
        + f" }} else {{ @f{(at + 1) % length}(%n - 1) }} }}"
        for at in range(length)
    ]
    text = "\n".join(lines).replace("@f0(%n)", "@f0(%n: int32)", 1)
    solved = InferType()(parse(text))
    assert {str(solved[name].checked_type) for name in solved} == {
        "fn (int32) -> float32"
    }


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["calls", "lets"])
def test_a_deep_program_on_an_unknown_parameter_is_solved(shape: str) -> None:
    depth = 5_000
    p = Var("p")
    body: Expr = p
    if shape == "calls":
        for _ in range(depth):
            body = relay.add(relay.negative(body), relay.const(1.0))
    else:
        names = [Var(f"v{at}") for at in range(depth)]
        body = names[-1]
        for name, before in zip(names[::-1], [*names[-2::-1], p], strict=True):
            body = Let(name, relay.negative(before), body)
    x = relay.var("x", shape=(3,))
    mod = InferType()(IRModule({"main": Function((x,), Function((p,), body)(x))}))
    assert mod["main"].ret_type == TensorType((3,))


def test_an_incomplete_type_is_no_annotation() -> None:
    x = Var("x", TupleType((IncompleteType(), TensorType(()))))
    assert Function((x,), x, TensorType(())).annotated_type is None
    assert Function((), x, FuncType((), IncompleteType())).annotated_type is None
