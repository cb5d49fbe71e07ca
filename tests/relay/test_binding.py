from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import bound_vars, free_vars
from parpass.relay.binding import substitute, with_new_variables
from parpass.relay.expr import Constant, Expr, Function, Let, Var, const, var
from tests.support.relay.deep import ALL_KINDS, DEPTH, X, in_stress, lets

x, y, z = (var(name, shape=(2,)) for name in "xyz")


def test_a_function_loses_the_parameters_that_are_bound() -> None:
    func = Function((x, y), relay.add(x, y))
    bound = relay.bind(func, {x: const(1.0), "y": const(2.0)})
    assert_structural_equal(bound, Function((), relay.add(const(1.0), const(2.0))))
    assert_structural_equal(
        relay.bind(func, {"x": z}), Function((y, z), relay.add(z, y))
    )


def test_variables_that_values_bring_become_parameters_unless_they_were_free() -> None:
    func = Function((x,), relay.add(x, z))
    assert relay.bind(func, {x: z}).params == ()
    assert relay.bind(func, {x: y}).params == (y,)


def test_arrays_and_numbers_are_constants() -> None:
    found = relay.bind(x, {"x": np.ones(2, "float32")})
    assert isinstance(found, Constant)
    assert isinstance(relay.bind(x, {x: relay.const(1.0).data}), Constant)
    assert isinstance(relay.bind(x, {x: 1.0}), Constant)


def test_nothing_to_bind_gives_the_same_object() -> None:
    func = Function((x,), relay.exp(x))
    assert relay.bind(func, {}) is func
    assert relay.bind(func, {y: x}) is func


def test_wrong_keys_are_errors_that_name_what_there_is() -> None:
    func = Function((var("weight"), var("same"), var("same")), const(1.0))
    with pytest.raises(IRTypeError, match=r"named 'weigth'.*got 0.*weight"):
        relay.bind(func, {"weigth": 1.0})
    with pytest.raises(IRTypeError, match="named 'same' to bind, got 2"):
        relay.bind(func, {"same": 1.0})
    with pytest.raises(IRTypeError, match="a variable or a name to bind, got int"):
        relay.bind(func, {1: 1.0})
    with pytest.raises(IRTypeError, match="expected a Relay expression"):
        relay.bind(x, {"x": "one"})


def test_a_copy_shares_no_bound_variable_with_the_original() -> None:
    v = Var("v")
    program = Function((x,), Let(v, relay.exp(x), relay.add(v, y)))
    copy = with_new_variables(program)
    assert_structural_equal(copy, program)
    assert set(bound_vars(copy)).isdisjoint(bound_vars(program))
    assert free_vars(copy) == [y]
    assert free_vars(with_new_variables(program, {y: z})) == [z]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param(lets), *map(in_stress, ALL_KINDS)])
def test_programs_may_be_deep(kind: Callable[[int], Expr]) -> None:
    program = kind(DEPTH)
    expected = [y if one is X else one for one in free_vars(program)]
    assert free_vars(substitute(program, {X: y})) == expected
    assert len(post_order(with_new_variables(program))) == len(post_order(program))
