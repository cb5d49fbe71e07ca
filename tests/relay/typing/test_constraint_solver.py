from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir import EnvFunc
from parpass.relay.typing.constraint_solver import ConstraintSolver

MATRIX = relay.TensorType((10, 20))
PREFIX = "tvm.relay.type_relation."


def related(
    solver: ConstraintSolver,
    name: str,
    *args: relay.Type,
    out: relay.Type | None = None,
) -> relay.Type:
    found = relay.IncompleteType() if out is None else out
    func = EnvFunc.get(PREFIX + name)
    solver.add_constraint(relay.TypeRelation(func, (*args, found), len(args)))
    return found


def test_what_relations_say_goes_forward_and_backward() -> None:
    solver = ConstraintSolver()
    unknown = relay.IncompleteType()
    column = relay.TensorType((10, 1, 1))
    wide = related(solver, "Broadcast", MATRIX, unknown)
    assert not solver.solve()
    related(solver, "Identity", unknown, out=column)
    assert solver.solve()
    assert solver.resolve(wide) == relay.TensorType((10, 10, 20))


def test_a_part_that_is_learnt_later_is_learnt_everywhere() -> None:
    solver = ConstraintSolver()
    one, other = relay.IncompleteType(), relay.IncompleteType()
    pair = related(solver, "Identity", relay.TupleType((one, other)))
    assert solver.solve()
    related(solver, "Identity", one, out=MATRIX)
    related(solver, "Identity", other, out=relay.scalar_type())
    assert solver.solve()
    assert solver.resolve(pair) == relay.TupleType((MATRIX, relay.scalar_type()))


def test_types_that_cannot_be_one_are_refused() -> None:
    solver = ConstraintSolver()
    unknown = relay.IncompleteType()
    for one, other in [
        (MATRIX, relay.scalar_type()),
        (unknown, relay.TupleType((unknown, unknown))),
        (relay.GlobalTypeVar("A"), relay.GlobalTypeVar("B")),
    ]:
        with pytest.raises(IRTypeError, match="types that can be one"):
            solver.unify(one, other)


def test_a_relation_that_types_break_is_an_error() -> None:
    solver = ConstraintSolver()
    related(solver, "Broadcast", MATRIX, relay.TensorType((3,)))
    with pytest.raises(IRTypeError):
        solver.solve()
    with pytest.raises(IRTypeError, match="a function of relation"):
        solver.add_constraint(relay.TypeRelation(None, (MATRIX,), 1))


def test_functions_agree_if_their_constraints_do() -> None:
    var = relay.TypeVar("A")

    def typ(name: str) -> relay.FuncType:
        relation = relay.TypeRelation(EnvFunc.get(PREFIX + name), (var, var), 1)
        return relay.FuncType((var,), var, (var,), (relation,))

    solver = ConstraintSolver()
    assert solver.unify(typ("Identity"), typ("Identity")) == typ("Identity")
    with pytest.raises(IRTypeError):
        solver.unify(typ("Identity"), typ("Broadcast"))
