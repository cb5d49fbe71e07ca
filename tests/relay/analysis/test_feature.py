from __future__ import annotations

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.analysis import Feature, detect_feature
from parpass.relay.expr import Function, GlobalVar, If, Let, Tuple, Var, const, var

x, c = var("x", shape=(2,)), var("c", "bool")


def test_each_kind_of_node_is_a_feature() -> None:
    v = Var("v")
    both = Tuple((GlobalVar("g"), v))
    body = Let(v, relay.exp(const(1.0)), relay.TupleGetItem(both, 0))
    assert detect_feature(Function((x, c), If(c, body, x))) == {
        Feature.fVar,
        Feature.fGlobalVar,
        Feature.fConstant,
        Feature.fTuple,
        Feature.fTupleGetItem,
        Feature.fFunction,
        Feature.fOp,
        Feature.fCall,
        Feature.fLet,
        Feature.fIf,
    }


def test_a_graph_uses_a_value_twice_names_and_constants_do_not_count() -> None:
    one = const(1.0)
    tree = relay.add(relay.add(x, one), relay.add(x, one))
    assert Feature.fGraph not in detect_feature(tree)
    shared = relay.exp(x)
    assert Feature.fGraph in detect_feature(relay.add(shared, shared))


def test_a_let_is_recursive_if_its_value_uses_its_variable() -> None:
    f, g = Var("f"), Var("g")
    again = Function((x,), f(x))
    assert Feature.fLetRec in detect_feature(Let(f, again, f))
    plain = Let(f, Function((x,), x), Let(g, Function((c,), f(x)), g))
    assert Feature.fLetRec not in detect_feature(plain)


def test_modules_and_an_expression_with_its_module() -> None:
    mod = IRModule({"main": Function((x,), relay.exp(x))})
    assert Feature.fOp in detect_feature(mod)
    assert detect_feature(x, mod) == detect_feature(mod, x) == detect_feature(mod)
    assert detect_feature(x) == {Feature.fVar}
