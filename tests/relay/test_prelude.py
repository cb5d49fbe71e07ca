from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from parpass.errors import ModuleError
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.relay import create_executor
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Tuple, Var, const
from parpass.relay.interpreter.values import ConstructorValue
from parpass.relay.prelude import Prelude
from parpass.relay.testing import run_infer_type, run_opt_pass
from parpass.relay.text.parser import parse
from parpass.relay.transform import InferType

P = Prelude()
P.mod.import_from_std("nat.rly")
_, CONS, NIL = P.mod.get_type("List")
_, _, NONE = P.mod.get_type("Option")
_, ROSE = P.mod.get_type("Tree")
_, ZERO, SUCCESSOR = P.mod.get_type("nat")


def plain(value: Any) -> Any:
    """Return a value in Python's own: lists, tuples, numbers."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not isinstance(value, ConstructorValue):
        return value.numpy().item()
    name, fields = value.constructor.name_hint, value.fields
    if name == "Rose":
        return (plain(fields[0]), plain(fields[1]))
    return [] if name == "Nil" else [plain(fields[0]), *plain(fields[1])]


def count(n: ConstructorValue) -> int:
    """Return the number that a value of type `nat` stands for."""
    found = 0
    while n.tag != ZERO.tag:
        found += 1
        [n] = n.fields
    return found


def make_nat_value(n: int) -> ConstructorValue:
    """Return the value of type `nat` that stands for a number."""
    value = ConstructorValue(ZERO.tag, (), ZERO)
    for _ in range(n):
        value = ConstructorValue(SUCCESSOR.tag, (value,), SUCCESSOR)
    return value


def make_nat_expr(n: int) -> Expr:
    """Return the expression of type `nat` that stands for a number."""
    expr: Expr = Call(ZERO, ())
    for _ in range(n):
        expr = Call(SUCCESSOR, (expr,))
    return expr


def value_of(callee: GlobalVar, *args: Expr) -> Any:
    return plain(create_executor(mod=P.mod).evaluate(Call(callee, args)))


def listed(items: Sequence[int | Expr]) -> Expr:
    made: Expr = Call(NIL, ())
    for item in reversed(items):
        made = Call(CONS, (const(item) if isinstance(item, int) else item, made))
    return made


def of_two(text: str) -> Function:
    x, y = Var("x"), Var("y")
    results: dict[str, Expr] = {
        "x - y": x - y,
        "(x + y, y)": Tuple((x + y, y)),
        "Cons(x, y)": Call(CONS, (x, y)),
    }
    return Function((x, y), results[text])


def positive() -> Function:
    x = Var("x")
    return Function((x,), const(0) < x)


def doubled() -> Function:
    x = Var("x")
    return Function((x,), x + x)


L = listed([5, -2, 7])


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("hd", (L,), 5),
        ("tl", (L,), [-2, 7]),
        ("nth", (L, const(2)), 7),
        ("update", (L, const(1), const(9)), [5, 9, 7]),
        ("length", (L,), 3),
        ("sum", (L,), 10),
        ("map", (doubled(), L), [10, -4, 14]),
        ("filter", (positive(), L), [5, 7]),
        ("foldl", (of_two("x - y"), const(0), L), -10),
        ("foldr", (of_two("x - y"), const(0), L), 14),
        ("foldr1", (of_two("x - y"), L), 14),
        ("foldr", (of_two("Cons(x, y)"), listed([]), L), [5, -2, 7]),
        ("concat", (L, listed([1])), [5, -2, 7, 1]),
        ("rev", (L,), [7, -2, 5]),
        ("zip", (L, listed([1, 2])), [(5, 1), (-2, 2)]),
        ("map_accuml", (of_two("(x + y, y)"), const(1), L), (11, [7, -2, 5])),
        ("map_accumr", (of_two("(x + y, y)"), const(1), L), (11, [5, -2, 7])),
    ],
)
def test_a_function_of_lists_gives(name: str, args: Sequence[Expr], wanted: Any):
    assert value_of(getattr(P, name), *args) == wanted


def test_functions_of_functions_and_trees_give():
    leaf = Call(ROSE, (const(2), listed([])))
    tree = Call(ROSE, (const(1), listed([leaf, leaf])))
    assert value_of(P.size, tree) == 3
    assert value_of(P.tmap, doubled(), tree) == (2, [(4, []), (4, [])])
    eight = Call(Call(P.iterate, (doubled(), const(3))), (const(1),))
    assert plain(create_executor(mod=P.mod).evaluate(eight)) == 8
    composed = Call(Call(P.compose, (doubled(), doubled())), (const(1),))
    assert plain(create_executor(mod=P.mod).evaluate(composed)) == 4


def test_lists_grow_from_seeds():
    mod = parse(
        str(P.mod)
        + """
        def @down(%n: int32) {
          if (%n == 0) { None } else { Some((%n - 1, %n)) }
        }
        def @right() { @unfoldr(@down, 3) }
        def @left() { @unfoldl(@down, 3) }
    """
    )
    executor = create_executor(mod=InferType()(mod))
    assert plain(executor.evaluate(mod.get_global_var("right"))()) == [3, 2, 1]
    assert plain(executor.evaluate(mod.get_global_var("left"))()) == [1, 2, 3]


def test_numbers_are_counted():
    executor = create_executor(mod=P.mod)
    add, double = map(P.mod.get_global_var, ("nat_add", "nat_double"))
    three = make_nat_expr(3)
    assert count(executor.evaluate(add(three, double(three)))) == 9
    assert count(executor.evaluate(double)(make_nat_value(5_000))) == 10_000


def test_the_prelude_is_typed_and_comes_back_from_its_text():
    mod = P.mod
    assert str(mod["map"].checked_type).startswith("fn <A, B>(fn (A) -> B, List[A])")
    assert_structural_equal(InferType()(parse(mod.astext())), mod)


def test_what_a_module_has_already_stays():
    mod = IRModule({"hd": Function((), const(1))})
    mine = mod["hd"]
    assert Prelude(mod).mod is mod
    again = Prelude(mod).mod
    assert again["hd"] is mine
    assert again["rev"] is P.mod["rev"]


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ModuleError, match=r"did you mean 'prelude\.rly'"):
        IRModule().import_from_std("prelud.rly")


def test_a_pass_may_run_beside_the_prelude():
    call = Call(P.length, (L,))
    found = run_opt_pass(call, InferType(), import_prelude=True)
    assert str(found.checked_type) == "int32"
    assert run_infer_type(const(1)).checked_type
