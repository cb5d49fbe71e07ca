from __future__ import annotations

from parpass import relay
from parpass.ir.module import IRModule

X = relay.var("x", shape=(2, 3))


def test_there_is_one_function_for_each_kind_of_what_is_fused():
    once = relay.exp(relay.add(relay.nn.softmax(X), relay.const(1.0)))
    twice = relay.exp(relay.add(relay.nn.softmax(once), relay.const(1.0)))
    mod = IRModule.from_expr(relay.Function([X], twice))
    found = relay.analysis.extract_fused_functions(mod)
    names = [
        [*relay.analysis.list_op_freqs(IRModule({"f": f}))] for f in found.values()
    ]
    assert sorted(map(sorted, names)) == [["add", "exp", "nn.softmax"]]
    assert all(name.lstrip("-").isdigit() for name in found)
    assert "Primitive" not in str(mod)
