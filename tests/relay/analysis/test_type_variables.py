from parpass.ir.types import FuncType, TensorType, TupleType, TypeVar
from parpass.relay.analysis import all_type_vars, bound_type_vars, free_type_vars
from parpass.relay.expr import Call, Function, Tuple, Var, const

A, B = TypeVar("a"), TypeVar("b")


def test_type_variables_are_found_wherever_types_stand():
    pair, function = TupleType((A, TensorType((2,)))), FuncType((B,), A)
    assert free_type_vars(Var("x", pair)) == [A]
    assert free_type_vars(Var("x", function)) == [B, A]
    assert free_type_vars(Function((), const(1), B)) == [B]
    assert free_type_vars(Call(Var("f"), (), None, (A,))) == [A]


def test_parameters_of_functions_and_of_their_types_are_not_free():
    x = Var("x", A)
    assert free_type_vars(Function((x,), x, A, (A,))) == []
    assert free_type_vars(Var("f", FuncType((A,), B, (A,)))) == [B]
    assert free_type_vars(Tuple((const(1), Var("y")))) == []


def test_bound_and_all_type_variables_come_once_each():
    c = TypeVar("c")
    x = Var("x", A)
    expr = Function((x,), Call(Var("f"), (x,), None, (B,)), None, (A, c))
    assert bound_type_vars(Tuple((expr, expr))) == [A, c]
    assert all_type_vars(expr) == [A, B, c]
    assert bound_type_vars(x) == []


def test_a_type_is_asked_as_an_expression_is():
    inner = FuncType((A,), B, (A,))
    typ = TupleType((inner, inner, B))
    assert free_type_vars(typ) == [B]
    assert bound_type_vars(typ) == [A]
    assert all_type_vars(typ) == [A, B]
    assert all_type_vars(A) == free_type_vars(A) == [A]
