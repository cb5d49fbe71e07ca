from __future__ import annotations

from parpass import tir
from parpass.tir.analysis import contents
from parpass.tir.stmt import ForKind
from parpass.transform import PassContext


def test_it_has_kinds_of_nodes_and_loops_keys_and_operators():
    builder = tir.ir_builder.create()
    a = builder.pointer("float32", name="A")
    with builder.for_range(0, 4, name="i", kind="vectorize") as i:
        a[i] = tir.exp(a[i])
    body = tir.AttrStmt(None, "pragma_unroll_explicit", tir.const(1), builder.get())
    found = contents(tir.PrimFunc([a.asobject()], body), PassContext())
    assert {tir.For, tir.Store, tir.Load, tir.AttrStmt} <= found.kinds
    assert tir.Select not in found.kinds
    assert found.loops == {ForKind.VECTORIZED}
    assert found.attributes == {"pragma_unroll_explicit"}
    assert found.operators == {"tir.exp"}
