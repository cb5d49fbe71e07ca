from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from parpass import relay
from parpass.diagnostic import Diagnostic, Span
from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.ir.types import FuncType, TensorType, TupleType, Type
from parpass.ir.wire import decode, encode
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Tuple, Var
from parpass.relay.transform import InferType, InferTypeLocal
from parpass.relay.type_inference.infer import infer_type
from parpass.transform import PassContext
from tests.support.relay.deep import DEPTHS

VECTOR = TensorType((3,))


def scalar(name: str, dtype: str = "float32") -> Var:
    return relay.var(name, dtype)


def vector(name: str) -> Var:
    return relay.var(name, VECTOR)


def inferred(function: Function) -> Function:
    return InferType()(IRModule({"main": function}))["main"]


def errors_of(mod: IRModule) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        InferType()(mod)
    diagnostics: list[Diagnostic] = list(caught.value.diagnostics)
    return [diagnostic.message for diagnostic in diagnostics]


def test_every_node_has_its_type_afterwards() -> None:
    x = vector("x")
    y = relay.var("y")
    pair = Tuple((y, relay.const(1.0)))
    cond = scalar("c", "bool")
    branches = relay.If(cond, y, x)
    body = Let(y, relay.add(x, x), Tuple((pair[0], pair, branches)))
    typed = inferred(Function((x, cond), body))
    for node in post_order(typed):
        if not isinstance(node, Op):
            assert isinstance(getattr(node, "checked_type", None), Type)


def test_a_function_has_a_function_type_and_its_result_is_annotated() -> None:
    x = vector("x")
    typed = inferred(Function((x,), Tuple((x, x))))
    result = TupleType((VECTOR, VECTOR))
    assert typed.checked_type == FuncType((VECTOR,), result)
    assert typed.ret_type == result


def test_a_typed_function_comes_back_as_the_same_object() -> None:
    x = vector("x")
    mod = InferType()(IRModule({"main": Function((x,), relay.add(x, x))}))
    assert InferType()(mod)["main"] is mod["main"]


def test_typed_nodes_are_kept_where_only_their_users_change() -> None:
    typed = infer_type(relay.add(vector("x"), vector("y")))
    user = infer_type(relay.negative(typed))
    assert user.args[0] is typed


def test_a_variable_is_replaced_at_its_binding_and_at_its_uses_alike() -> None:
    y = relay.var("y")
    x = vector("x")
    let = infer_type(Let(y, x, relay.add(y, y)))
    body = let.body
    assert isinstance(body, Call)
    assert let.var is body.args[0]
    assert let.var is body.args[1]
    assert let.var.checked_type == VECTOR


def test_a_variable_follows_its_value_when_that_has_another_type_now() -> None:
    y = relay.var("y")
    typed = infer_type(Let(y, vector("x"), relay.negative(y)))
    changed = infer_type(Let(typed.var, scalar("s"), typed.body))
    assert changed.checked_type == TensorType(())


def test_shared_nodes_stay_shared() -> None:
    x = vector("x")
    shared = relay.add(x, x)
    typed = infer_type(relay.multiply(shared, shared))
    assert typed.args[0] is typed.args[1]


def test_a_call_of_an_annotated_global_has_its_result_type() -> None:
    callee, p, x = GlobalVar("callee"), scalar("p"), scalar("x")
    mod = IRModule({callee: Function((p,), p, TensorType(()))})
    typed = infer_type(relay.negative(callee(x)), mod)
    assert typed.checked_type == TensorType(())
    call = typed.args[0]
    assert isinstance(call, Call)
    assert call.op is callee


def test_a_long_chain_of_globals_is_inferred_without_recursion() -> None:
    count = 1000
    names = [GlobalVar(f"f{at}") for at in range(count)]
    mod = IRModule()
    for at, name in enumerate(names):
        x = scalar("x")
        mod[name] = Function((x,), names[at + 1](x) if at + 1 < count else x)
    assert InferType()(mod)["f0"].ret_type == TensorType(())


class Reloaded(Mapping[str, Function]):
    """Functions that are other objects whenever they are asked for."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod

    def __getitem__(self, name: str) -> Function:
        return decode(encode(self._mod[name]), (), self._mod.global_vars_by_name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._mod.functions_by_name)

    def __len__(self) -> int:
        return len(self._mod)


def test_a_module_may_load_a_function_again_and_again() -> None:
    g, h = GlobalVar("g"), GlobalVar("h")
    p, q, x = vector("p"), vector("q"), vector("x")
    mod = IRModule({g: Function((p,), h(p)), h: Function((q,), relay.negative(q))})
    view = IRModule.assemble(mod, Reloaded(mod), reader="InferType")
    for _ in range(2):
        function = Function((x,), relay.add(g(x), h(x)))
        typed = InferType().transform_function(function, view, PassContext())
        assert typed.ret_type == VECTOR


def test_a_caller_is_looked_at_again_when_its_callee_has_another_type() -> None:
    callee, p, x = GlobalVar("callee"), vector("p"), vector("x")
    mod = IRModule({callee: Function((p,), p), "main": Function((x,), callee(x))})
    mod = InferType()(mod)
    mod["callee"] = Function((p,), relay.sum(p))
    (message,) = errors_of(mod)
    assert message == (
        "function 'main': expected Tensor[(3,), float32] as result, got float32"
    )


def test_an_annotated_function_may_call_itself() -> None:
    f, n = GlobalVar("f"), scalar("n")
    mod = IRModule({f: Function((n,), f(n), TensorType(()))})
    assert InferType()(mod)["f"].checked_type == FuncType(
        (TensorType(()),), TensorType(())
    )


def test_the_type_alone_may_be_asked_for() -> None:
    assert InferTypeLocal(relay.sum(vector("x"))) == TensorType(())


def test_an_error_names_function_and_operator_and_is_on_the_span() -> None:
    span = Span("model.relay", 3, 3, 5, 20)
    x, y = vector("x"), relay.var("y", shape=(4,))
    call = Call(Op.get("add"), (x, y), span=span)
    with pytest.raises(DiagnosticError) as caught:
        InferType()(IRModule({"broken": Function((x, y), call)}))
    assert str(caught.value) == (
        "model.relay:3:5: error: function 'broken': operator 'add': expected shapes "
        "that broadcast, got (3,) and (4,)"
    )


def test_a_function_with_errors_comes_back_unchanged() -> None:
    x, y = vector("x"), relay.var("y", shape=(4,))
    broken = Function((x, y), relay.add(x, y))
    mod = IRModule({"main": broken})
    context = PassContext()
    with context, pytest.raises(DiagnosticError):
        InferType()(mod)
    assert mod["main"] is broken
    assert broken.checked_type_ is None


def test_outside_of_a_pass_errors_are_raised_at_once() -> None:
    p = relay.var("p")
    mod = IRModule({"main": Function((p,), relay.negative(p))})
    with pytest.raises(DiagnosticError, match="parameter 'p'"):
        InferType().transform_function(mod["main"], mod, PassContext())


def call_with(op: str, *args: Expr, attrs: object = None) -> Call:
    return Call(Op.get(op), args, attrs)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            call_with("cast", scalar("x")),
            "operator 'cast': expected attributes CastAttrs, got NoneType",
        ),
        (
            relay.negative(relay.var("p")),
            "expected a type annotation on free variable 'p'",
        ),
        (GlobalVar("f")(), "the module has no function named 'f'"),
    ],
)
def test_an_ill_typed_expression_is_one_error(body: Expr, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        infer_type(body)
    assert [d.message for d in caught.value.diagnostics] == [message]


def test_an_unknown_global_is_an_error_with_the_nearest_name() -> None:
    mod = IRModule({"helper": Function((), relay.const(1.0))})
    with pytest.raises(DiagnosticError, match=r"'helpr'; did you mean 'helper'\?$"):
        infer_type(GlobalVar("helpr")(), mod)


def test_an_expression_that_calls_an_ill_typed_function_is_ill_typed() -> None:
    g, x, y = GlobalVar("g"), vector("x"), relay.var("y", shape=(4,))
    mod = IRModule({g: Function((x, y), relay.add(x, y))})
    with pytest.raises(DiagnosticError, match="well-typed function, got 'g', which"):
        infer_type(g(x, y), mod)


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_call_chain_is_typed_and_recognised(depth: int) -> None:
    x = scalar("x")
    body: Expr = x
    for _ in range(depth):
        body = relay.negative(body)
    mod = InferType()(IRModule({"main": Function((x,), body)}))
    assert mod["main"].ret_type == TensorType(())
    assert InferType()(mod)["main"] is mod["main"]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["body", "value", "branch", "closure"])
@pytest.mark.parametrize("depth", DEPTHS)
def test_deeply_nested_scopes_are_typed(place: str, depth: int) -> None:
    x = scalar("x")
    body: Expr = x
    for _ in range(depth):
        if place == "body":
            body = Let(relay.var("v"), x, body)
        elif place == "value":
            var = relay.var("v")
            body = Let(var, body, var)
        elif place == "branch":
            body = relay.If(relay.const(value=True), x, body)
        else:
            body = Call(Function((), body), ())
    assert infer_type(Function((x,), body)).ret_type == TensorType(())
