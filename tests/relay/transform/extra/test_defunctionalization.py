from __future__ import annotations

from typing import Any

import pytest

from parpass import relay
from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types import FuncType, TensorType, TypeVar
from parpass.relay.expr import Expr, Function, GlobalVar, If, Let, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.text.parser import parse
from parpass.relay.transform import Defunctionalization, Defunctionalize, InferType
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

SCALAR = TensorType((), "float32")
ONE = FuncType((SCALAR,), SCALAR)


def scalar(name: str = "x") -> Var:
    return Var(name, SCALAR)


def adds(captured: Var) -> Function:
    z = scalar("z")
    return Function((z,), relay.add(z, captured))


def twice() -> Function:
    f, x = Var("f", ONE), scalar()
    return Function((f, x), f(f(x)))


def test_the_documented_module_becomes_first_order() -> None:
    mod, x, y = IRModule({"twice": twice()}), scalar(), scalar("y")
    mod["main"] = Function((x, y), mod.get_global_var("twice")(adds(y), x))
    mod = InferType()(mod)
    after = InferType()(Defunctionalize()(mod))
    after.remove("twice")
    assert shows(Defunctionalize, mod, after)


def test_a_function_is_converted_beside_what_it_calls() -> None:
    mod, x, y = IRModule({"twice": twice()}), scalar(), scalar("y")
    main = Function((x, y), mod.get_global_var("twice")(adds(y), x))
    mod["main"] = Defunctionalization(main, mod)
    run: Any = relay.create_executor(mod=InferType()(mod)).evaluate()
    assert run(1.0, 3.0).numpy() == 7
    assert not any(isinstance(node, Function) for node in post_order(mod["main"].body))


def test_closures_may_be_recursive_nested_and_returned() -> None:
    f, n, x = Var("f"), relay.var("n", "int32"), scalar()
    again = f(relay.subtract(n, relay.const(1)))
    body = If(relay.less(n, relay.const(1)), x, relay.add(x, again))
    count = Let(f, Function((n,), body, SCALAR), f)
    y = scalar("y")
    made, mod = GlobalVar("made"), IRModule()
    mod[made] = Function((x,), count)
    mod["main"] = Function((y,), made(y)(relay.const(3)))
    after = assert_keeps_meaning(Defunctionalize(), mod)
    names = ["made", "main", "apply_Defunc0", "made_0"]
    assert list(after.functions_by_name) == names


def test_functions_with_type_parameters_are_copied_for_each_choice_of_types() -> None:
    a, x, y = TypeVar("A"), scalar(), Var("y", TensorType((2,), "float32"))
    f, z, w = Var("f", FuncType((a,), a)), Var("z", a), Var("w", a)
    apply, same = GlobalVar("apply"), GlobalVar("same")
    mod = IRModule()
    mod[same] = Function((w,), w, a, (a,))
    mod[apply] = Function((f, z), f(z), a, (a,))
    v = Var("v", a)
    closure = Function((v,), v, a, (a,))
    body = relay.Tuple((apply(same, x), apply(closure, y), apply(same, x)))
    mod["main"] = Function((x, y), body)
    after = assert_keeps_meaning(Defunctionalize(), mod)
    assert {"apply_0", "apply_1"} < {*after.functions_by_name}
    assert "apply_2" not in after


def test_what_cannot_be_encoded_is_refused() -> None:
    a, x, same = TypeVar("A"), scalar(), Var("same")
    w = Var("w", a)
    closure = Function((w,), w, a, (a,))
    mod = IRModule({"main": Function((x,), Let(same, closure, same(x)))})
    with pytest.raises(IRError, match="expected a function without type parameters"):
        Defunctionalize()(mod)
    with pytest.raises(IRError, match="neither takes nor gives functions, got fn"):
        Defunctionalization(twice(), IRModule())


EMPTY_LISTS = """
type List[A] { Cons(A, List[A]), Nil, }
def @main(%x: float32) -> float32 {
  let %unused = Nil<float32>();
  let %f = fn (%y: float32) -> float32 {
    match (Nil<fn (float32) -> float32>()) {
      Cons(%g, _) => { %g(%y) },
      Nil => { add(%x, %y) },
    }
  };
  %f(%x)
}
"""


def test_an_empty_list_of_functions_is_one_of_what_stands_for_them() -> None:
    again = assert_keeps_meaning(Defunctionalize(), parse(EMPTY_LISTS))
    assert_keeps_meaning(Defunctionalize(), again)
    assert "Nil<Defunc" in again.astext()


@pytest.mark.slow
def test_programs_may_be_deep() -> None:
    x = scalar()
    nested: Expr = x
    for _ in range(1_500):
        f = Var("f")
        nested = Let(f, Function((), nested), f())
    mod = Defunctionalize()(InferType()(IRModule({"main": Function((x,), nested)})))
    assert evaluate(mod["main"], [2.0], mod) == 2
