"""Types that share their parts: twice as large at each level, and handled in no time.

`DOUBLED` has 2 ** 90 parts. What goes through them one by one does not come back.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator

import pytest

from parpass import relay
from parpass.errors import DiagnosticError, EvaluationError, SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.structural import structural_equal, structural_hash
from parpass.ir.types.type_structure import (
    MAX_TYPE_DEPTH,
    MAX_TYPE_SIZE,
    is_complete,
    substitute,
    type_vars_in,
)
from parpass.ir.wire import decode, encode
from parpass.relay import (
    Function,
    FuncType,
    IncompleteType,
    Let,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeMutator,
    TypeVar,
    Var,
    parse,
)
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import FoldConstant, InferType
from parpass.relay.type_inference.infer import infer_type
from parpass.relay.type_inference.solver import TypeSolver
from tests.support.cpu_time import cpu_limit

LEVELS = 90
X = relay.var("x", shape=(2,))


@pytest.fixture(autouse=True)
def _all_ends() -> Generator[None]:
    with cpu_limit(20):
        yield


def doubled(of: Type, levels: int = LEVELS) -> Type:
    for _ in range(levels):
        of = TupleType((of, of))
    return of


def doubled_functions(of: Type) -> Type:
    for _ in range(LEVELS):
        of = FuncType((of,), of)
    return of


DOUBLED = doubled(TensorType((2,)))


def program(levels: int) -> str:
    lines = [f"%{at + 1} = (%{at}, %{at});" for at in range(levels)]
    body = "\n".join(["%0 = (%x, %x);", *lines, f"%{levels}"])
    return f"def @main(%x: Tensor[(2), float32]) {{\n{body}\n}}\n"


@pytest.mark.parametrize("make", [doubled, doubled_functions])
def test_they_are_compared_and_hashed(make: Callable[[Type], Type]) -> None:
    one, other = make(TensorType((2,))), make(TensorType((2,)))
    assert one == other
    assert hash(one) == hash(other)
    assert one != make(TensorType((3,)))
    assert structural_equal(Var("x", one), Var("x", other), map_free_vars=True)
    assert structural_hash(one) == structural_hash(other)


def test_they_are_compared_whatever_their_type_parameters_are_called() -> None:
    a, b = TypeVar("A"), TypeVar("B")

    def inner(var: TypeVar) -> Type:
        return FuncType((doubled(var, 10),), FuncType((var,), var, (var,)))

    one, other = FuncType((inner(a), a), a, (a,)), FuncType((inner(b), b), b, (b,))
    assert one == other
    assert hash(one) == hash(other)
    assert one != FuncType((inner(a), b), b, (b,))
    assert FuncType((a, b), a, (a, b)) != FuncType((b, a), a, (a, b))
    assert FuncType((a, b), a, (a, b)) == FuncType((b, a), b, (b, a))


def test_polymorphic_ones_have_a_size_that_they_may_have() -> None:
    var = TypeVar("A")
    with pytest.raises(SizeLimitError, match=f"at most {MAX_TYPE_SIZE} parts"):
        FuncType((doubled(var),), var, (var,))


def test_they_are_rewritten_and_looked_through() -> None:
    var, unknown = TypeVar("A"), IncompleteType()
    assert substitute(doubled(var), {var: TensorType((2,))}) == DOUBLED
    assert type_vars_in(doubled(var)) == [var]
    assert not is_complete(doubled(unknown))
    assert TypeMutator().visit(DOUBLED) is DOUBLED


def test_they_are_unified() -> None:
    solver = TypeSolver()
    unknown = solver.unknown()
    assert solver.unify(doubled(unknown), DOUBLED) is not None
    assert solver.resolve(doubled(unknown)) == DOUBLED
    widened = solver.unify(doubled(TensorType((relay.Any(),))), DOUBLED)
    assert widened == doubled(TensorType((relay.Any(),)))
    assert solver.unify(doubled(TensorType((3,))), DOUBLED) is None


def test_programs_of_them_are_typed_sent_and_typed_again() -> None:
    typed = InferType()(parse(program(LEVELS)))
    assert typed["main"].ret_type == doubled(TensorType((2,)), LEVELS + 1)
    assert InferType()(typed) is typed or InferType()(typed)["main"] is typed["main"]
    again = decode(encode(typed["main"]))
    assert again.checked_type == typed["main"].checked_type
    assert pickle.loads(pickle.dumps(DOUBLED)) == DOUBLED


def test_they_are_inferred_through_closures_of_unknown_types() -> None:
    lines = [f"let %f{n} = fn (%a{n}) {{ (%a{n}, %a{n}) }};" for n in range(60)]
    lines += [f"let %v{n + 1} = %f{n}(%v{n});" for n in range(60)]
    text = "\n".join(["let %v0 = %x;", *lines, "%v60"])
    mod = parse(f"def @main(%x: Tensor[(2), float32]) {{\n{text}\n}}\n")
    found = InferType()(mod)["main"].ret_type
    assert found == doubled(TensorType((2,)), 60)


@pytest.mark.parametrize("levels", [MAX_TYPE_DEPTH, 1_000])
def test_deeper_ones_are_errors_that_say_where(levels: int) -> None:
    at_most = f"error: .*types nested at most {MAX_TYPE_DEPTH} deep, got 102"
    with pytest.raises(DiagnosticError, match=at_most) as caught:
        InferType()(parse(program(levels)))
    assert "from_string:" in str(caught.value)


@pytest.mark.slow
def test_deeper_ones_among_unknowns_are_errors() -> None:
    lines = [f"let %f{n} = fn (%a{n}) {{ (%a{n}, %a{n}) }};" for n in range(400)]
    lines += [f"let %v{n + 1} = %f{n}(%v{n});" for n in range(400)]
    text = "\n".join(["let %v0 = %x;", *lines, "%v400"])
    mod = parse(f"def @main(%x: Tensor[(2), float32]) {{\n{text}\n}}\n")
    with pytest.raises((DiagnosticError, SizeLimitError), match="nested at most"):
        InferType()(mod)


def test_a_text_that_would_have_no_end_is_refused() -> None:
    mod = InferType()(parse(program(LEVELS)))
    with pytest.raises(SizeLimitError, match=r"at most \d+ parts, .* got \d"):
        mod.astext()
    large = doubled(TensorType(()), 16)
    closures = [Function((Var("y", large),), X) for _ in range(1_000)]
    with pytest.raises(SizeLimitError, match="characters of types"):
        relay.astext(Function((X,), Tuple(tuple(closures))))


def test_messages_show_their_outer_parts() -> None:
    for shown in (str(DOUBLED), repr(DOUBLED), str(FuncType((DOUBLED,), DOUBLED))):
        assert "..." in shown
        assert len(shown) < 20_000
    other = Var("x", TupleType((DOUBLED, TensorType(()))))
    with pytest.raises(DiagnosticError) as caught:
        infer_type(Let(other, Var("y", DOUBLED), other))
    assert len(str(caught.value)) < 50_000
    usual = TupleType((TensorType((2,)), TupleType(())))
    assert str(usual) == "(Tensor[(2,), float32], ())"


def test_values_of_them_are_evaluated_and_folded() -> None:
    one = relay.const(1.0)
    tup: relay.Expr = Tuple((one, one))
    for _ in range(LEVELS):
        tup = Tuple((tup, tup))
    takes = Function((Var("t", infer_type(tup).checked_type),), relay.const(3.0))
    assert evaluate(takes(tup)) == 3.0
    assert evaluate(Tuple((tup,)))
    with pytest.raises(EvaluationError, match=r"got \(\(\(.*\.\.\."):
        evaluate(Function((X,), X)(tup))
    last = tup
    for _ in range(LEVELS + 1):
        last = TupleGetItem(last, 0)
    mod = InferType()(IRModule({"main": Function((), last)}))
    assert isinstance(FoldConstant()(mod)["main"].body, relay.Constant)
