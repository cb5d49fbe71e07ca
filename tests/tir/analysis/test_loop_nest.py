"""loop_nest: the loops of a function, as its text has them."""

from __future__ import annotations

import pytest

from parpass import relay, tir
from parpass.errors import SizeLimitError
from parpass.tir.analysis.loop_nest import Loop, loop_nest

TEXT = """
@main = primfn(a: handle, b: handle, n: int32) -> ()
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [8], []),
             B: Buffer(B_1: Pointer(float32), float32, [8], [])}
  buffer_map = {a: A, b: B} {
  for (i: int32, 0, (n*2)) "parallel" {
    A[i] = 0f32;
    for (j: int32, 0, 4) "vectorized" {
      B[j] = A[i];
    }
    A[i] = 1f32;
  }
  while (A[0] < 1f32) {
    for (k: int32, 2, 3) "unroll" {
      if (n < k) {
        B[k] = 1f32;
      } else {
        A[k] = 1f32;
      }
    }
  }
  A[0] = 2f32;
}
"""


def test_loops_come_in_the_order_of_the_text_with_what_they_write():
    assert loop_nest(relay.parse(TEXT)["main"]) == [
        Loop(0, "i", "(n*2)", "parallel", ("A",)),
        Loop(1, "j", 4, "vectorized", ("B",)),
        Loop(0, "", "(A[0] < 1f32)", "while", ()),
        Loop(1, "k", 3, "unrolled", ("B", "A")),
    ]


def test_statements_that_are_shared_too_often_are_refused():
    stmt: tir.Stmt = tir.Evaluate(0)
    for _ in range(40):
        stmt = tir.SeqStmt([stmt, stmt])
    with pytest.raises(SizeLimitError, match="statements in a loop nest"):
        loop_nest(tir.PrimFunc([], stmt))


def test_deep_nests_have_all_their_loops():
    stmt: tir.Stmt = tir.Evaluate(0)
    for _ in range(5_000):
        stmt = tir.For(tir.Var("i", "int32"), 0, 2, 0, stmt)
    assert [loop.depth for loop in loop_nest(tir.PrimFunc([], stmt))] == [*range(5_000)]
