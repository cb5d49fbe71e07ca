"""Statements check what they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import tir
from parpass.errors import IRTypeError

NONE: Any = None
ONE: Any = 1
I: Any = tir.Var("i", "int32")  # noqa: E741
A = tir.decl_buffer((16,), "int32", "A")
STORE = tir.BufferStore(A, I, (I,))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tir.For(I, 0, 8, 0, I), "expected a statement for For.body, got Var"),
        (lambda: tir.For(I, 0, tir.Ramp(I, 1, 4), 0, STORE), "expected a scalar"),
        (lambda: tir.For(I, 0, 8, 9, STORE), "expected a ForKind"),
        (lambda: tir.For(ONE, 0, 8, 0, STORE), "expected a tir.Var in For"),
        (lambda: tir.While(1, STORE), "expected a condition that can change"),
        (lambda: tir.LetStmt(I, 1.0, STORE), "expected a value of int32"),
        (lambda: tir.AssertStmt(I > 0, 1.5, STORE), "expected an int or a string"),
        (lambda: tir.SeqStmt((STORE, I)), "expected statements for SeqStmt, got Var"),
        (lambda: tir.IfThenElse(I > 0, NONE), "expected a statement"),
        (
            lambda: tir.Allocate(A.data, "float32", (4,), None, STORE),
            "expected a pointer to float32",
        ),
        (lambda: tir.BufferStore(A, 1, (1, 2)), "expected 1 indices"),
        (lambda: tir.BufferStore(I, 1, (1,)), "expected a tir.Buffer in BufferStore"),
        (lambda: tir.Store(A.data, 1, tir.Ramp(I, 1, 4)), "with the lanes of int32"),
        (lambda: tir.PrimFunc((I,), I), "expected a statement for a PrimFunc's body"),
        (lambda: tir.PrimFunc((1,), STORE), "expected variables for a PrimFunc's"),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, message: str):
    with pytest.raises(IRTypeError, match=message):
        build()


def test_a_loop_keeps_its_kind_and_annotations():
    loop = tir.For(I, 0, 8, tir.ForKind.PARALLEL, STORE, None, {"n": tir.const(3)})
    assert loop.kind == tir.ForKind.PARALLEL
    assert dict(loop.annotations or {}) == {"n": 3}


def test_what_is_said_of_a_program_is_a_node_or_a_constant():
    said = tir.AttrStmt("all", "pragma_unroll", 1, STORE)
    assert said.node == "all"
    assert tir.AttrStmt(None, "key", "value", STORE).node is None
    assert tir.AttrStmt(A, "key", 1, STORE).node is A


def test_sequences_are_taken_apart_in_order():
    one = tir.Evaluate(1)
    found = tir.stmt_seq(STORE, tir.SeqStmt((one, STORE)), tir.const(2))
    assert [type(part) for part in tir.stmt_list(found)] == [
        tir.BufferStore,
        tir.Evaluate,
        tir.BufferStore,
        tir.Evaluate,
    ]
    assert tir.stmt_seq(STORE) is STORE
