from __future__ import annotations

from parpass.ir.module.reachability import called_globals
from parpass.relay.expr import Call, Function, GlobalVar, Tuple, Var

F, G = GlobalVar("f"), GlobalVar("g")


def test_global_variables_come_once_in_order_of_first_appearance():
    body = Tuple((Call(G, (F,)), Call(F, ()), Call(GlobalVar("g"), ())))
    assert called_globals(Function((), body)) == [G, F]
    assert called_globals(Var("x")) == []
