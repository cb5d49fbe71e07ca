from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from parpass import relay, tir
from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.relay.transform import AnnotateSpans, InferType
from tests.support.deep import DEPTH, calls
from tests.support.drawn import PROGRAMS
from tests.support.profiles import examples

X = relay.var("x", shape=(2, 3))


def test_every_call_has_its_line_of_the_generated_text():
    mod = IRModule.from_expr(relay.Function([X], relay.abs(relay.negative(X))))
    spanned = AnnotateSpans()(mod)
    call = spanned["main"].body
    assert call.span.source_name == "GeneratedSource"
    lines = spanned.sources["GeneratedSource"].splitlines()
    assert "abs(%0)" in lines[call.span.line - 1]
    assert "negative(%x)" in lines[call.args[0].span.line - 1]
    assert call.checked_type == relay.TensorType((2, 3))


def test_diagnostics_show_what_was_generated(capsys: pytest.CaptureFixture[str]):
    good = IRModule.from_expr(relay.Function([X], relay.negative(X)))
    spanned = AnnotateSpans()(good)
    function = spanned["main"]
    [x] = function.params
    call = relay.Call(
        relay.op.get("add"), [function.body, x, x], None, (), function.body.span
    )
    spanned["main"] = relay.Function([x], call)
    with pytest.raises(DiagnosticError):
        InferType()(spanned)
    assert "negative(%x)" in capsys.readouterr().err


def test_weights_are_kept_and_not_written():
    weight = relay.const(np.arange(6.0, dtype="float32").reshape(2, 3))
    mod = IRModule.from_expr(relay.Function([X], relay.add(X, weight)))
    spanned = AnnotateSpans()(mod)
    assert spanned["main"].body.args[1].data is weight.data
    assert "metadata" not in spanned.sources["GeneratedSource"]


def test_functions_of_other_irs_and_names_stay():
    x = tir.Var("x", "int32")
    loop = tir.PrimFunc([x], tir.Evaluate(x))
    mod = IRModule({"loop": loop}, attrs={"k": 1}, sources={"a": "b"})
    mod["main"] = relay.Function([X], X)
    spanned = AnnotateSpans()(mod)
    assert spanned["loop"] is mod["loop"]
    assert spanned.get_global_var("main") is mod.get_global_var("main")
    assert [*spanned.functions_by_name] == ["loop", "main"]
    assert spanned.attrs == mod.attrs
    assert {*spanned.sources} == {"a", "GeneratedSource"}


def test_a_let_that_stands_in_a_call_is_annotated():
    text = "def @main(%x: float32) { negative((let %a = ref(%x); %x)) }"
    spanned = AnnotateSpans()(relay.parse(text))
    assert_structural_equal(spanned, InferType()(relay.parse(text)))


@pytest.mark.slow
@given(PROGRAMS)
@examples(0.75)
def test_programs_stay_what_they_are(module: IRModule):
    typed = InferType()(module)
    assert_structural_equal(AnnotateSpans()(module), typed)
    spanned = AnnotateSpans()(typed)
    assert_structural_equal(spanned, typed)
    for function in spanned.functions_by_name.values():
        assert all(
            node.span is not None
            for node in post_order(function)
            if isinstance(node, relay.Call)
        )


@pytest.mark.slow
def test_deep_programs_are_annotated():
    mod = IRModule.from_expr(calls(DEPTH))
    assert_structural_equal(AnnotateSpans()(mod), InferType()(mod))
