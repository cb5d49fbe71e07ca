"""What stands for what when a loop program is reduced."""

from __future__ import annotations

import pytest

from parpass.ir.module import IRModule
from parpass.ir.reduction_patterns import (
    Descend,
    DropNodes,
    DropParameters,
    DropParts,
    Hoist,
    MakeSmallest,
    Parametrise,
    StandAlone,
)
from parpass.relay import parse
from parpass.transform import ReductionPattern

PROGRAM = """\
@main = primfn(a: handle, n: int32) -> ()
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [16], [])}
  buffer_map = {a: A} {
  for (i: int32, 2, 8) {
    A[i] = (A[1]*3f32);
  }
  let x: int32 = 7;
  if (x < 3) {
    A[x] = 1f32;
  } else {
    A[0] = 0f32;
  }
}
"""


def module(text: str = PROGRAM) -> IRModule:
    return parse(text)


def texts(pattern: ReductionPattern, mod: IRModule) -> list[str]:
    """Return the bodies that a pattern makes, by each item alone, in one line each."""
    made = [pattern.without(mod, [item]) for item in pattern.items(mod)]
    bodies = [str(one).partition("{A: ")[2].partition(" {\n")[2] for one in made]
    return [" ".join(body.split())[:-2] for body in bodies]


def inside(body: str) -> IRModule:
    """Return the program with another body."""
    start = PROGRAM.index("  for (")
    return module(f"{PROGRAM[:start]}{body}\n}}\n")


def test_a_statement_is_taken_out_of_a_sequence():
    assert texts(DropNodes(), inside("A[0] = 1f32; A[1] = 2f32;"))[1:] == [
        "A[0] = 1f32;",
        "A[1] = 2f32;",
    ]


def test_a_branch_that_does_nothing_is_none():
    mod = inside("if (n < 3) { A[0] = 1f32; } else { A[1] = 2f32; }")
    assert "if (n < 3) { A[0] = 1f32; }" in texts(DropNodes(), mod)
    assert DropParts().items(mod) == []


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("for (i: int32, 2, 8) { A[i] = 1f32; }", "A[2] = 1f32;"),
        ("let x: int32 = n; A[x] = 1f32;", "A[n] = 1f32;"),
        ("if (n < 3) { A[0] = 1f32; }", "A[0] = 1f32;"),
        ("while (A[0] < 1f32) { A[0] = 1f32; }", "A[0] = 1f32;"),
        ("A[0] = (A[1] + 2f32);", "A[0] = A[1];"),
        ("A[0] = (let y: float32 = A[1] in (y + 1f32));", "A[0] = (A[1] + 1f32);"),
    ],
)
def test_the_first_of_what_something_is_made_of_takes_its_place(
    statement: str, left: str
):
    assert texts(Descend(), inside(statement))[0] == left


def test_an_expression_of_a_statement_stands_alone():
    assert texts(StandAlone(), inside("A[(n + 1)] = (A[n]*2f32);")) == [
        "(A[n]*2f32);",
        "(n + 1);",
    ]


def test_values_become_zero_but_not_variables():
    mod = inside("A[n] = @tir.exp(3f32, dtype=float32);")
    assert texts(MakeSmallest(), mod) == [
        "A[n] = 0f32;",
        "A[n] = @tir.exp(0f32, dtype=float32);",
        "A[n] = @tir.exp(3f32, dtype=float32);",  # the extent of the buffer
    ]


def test_parameters_that_are_not_used_go_with_their_buffers():
    mod = inside("n;")
    [place] = DropParameters().items(mod)
    made = DropParameters().without(mod, [place])
    assert str(made) == "@main = primfn(n: int32) -> () {\n  n;\n}"


def test_loop_programs_get_no_parameters_and_no_other_results():
    assert Parametrise().items(module()) == []
    assert Hoist().items(module()) == []


def test_a_loop_that_would_never_end_is_not_made():
    mod = inside("while (A[0] < 1f32) { A[0] = 1f32; }")
    pattern = MakeSmallest()
    made = [pattern.without(mod, [item]) for item in pattern.items(mod)]
    assert sum(one is mod for one in made) == 1
