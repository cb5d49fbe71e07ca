"""What shipped passes say of their work, and why something was not done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parpass import relay
from parpass.instrument import RemarksInstrument
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_registration import TempOpAttr
from parpass.relay.backend.lowering.lower_to_tir import LowerToTIR
from parpass.relay.expr import Function
from parpass.relay.op.hooks import ALTER_OP_LAYOUT
from parpass.relay.transform import (
    AlterOpLayout,
    CombineParallelDense,
    ConvertLayout,
    DeadCodeElimination,
    EliminateCommonSubexpr,
    FoldConstant,
    ForwardFoldScaleAxis,
    FuseOps,
    Inline,
)
from parpass.remark import RemarkKind
from parpass.runner import Runner
from parpass.target import Target
from parpass.tir.transform import UnrollLoop, VectorizeLoop
from parpass.transform import Pass, PassContext, Sequential
from tests.support.cases.files import read_cases
from tests.support.cases.program_texts import read_program
from tests.support.runner.pooled import POOLED

CONVOLUTIONS = """\
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(6, 3, 3, 3), float32],
          %v: Tensor[(6, 6, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, %v);
  %3 = sum(%2, axis=[1]);
  %4 = reshape(%2, newshape=[-1]);
  %5 = sort(%3);
  (%4, %5)
}
"""
CONSTANTS = """\
def @main(%x: Tensor[(2,), float32]) {
  %0 = add(1f, 2f);
  %1 = full(1f, shape=[100000, 100000], dtype="float32");
  %2 = exp(%1);
  %3 = shape_of(%x, dtype="int32");
  (%0, %2, %3)
}
"""
BINDINGS = """\
def @main(%x: Tensor[(2,), float32], %r: ref(Tensor[(2,), float32])) {
  let %dead = exp(%x);
  let %once = log(%x);
  let %seen = ref_write(%r, %x);
  let %twice = exp(%once);
  %0 = exp(%twice);
  %1 = exp(%twice);
  add(%0, %1)
}
"""
CALLS = """\
def @main(%x: Tensor[(2,), float32]) {
  %0 = @twice(%x);
  @again(%0)
}

def @twice(%x: Tensor[(2,), float32], Inline=1) {
  add(%x, %x)
}

def @again(%x: Tensor[(2,), float32], Inline=1) {
  @again(%x)
}
"""
PRODUCTS = """\
def @main(%x: Tensor[(2, 4), float32], %v: Tensor[(3, 4), float32],
          %w: Tensor[(3, 4), float32], %y: Tensor[(2, 4), float32]) {
  %0 = nn.dense(%x, %v, units=3);
  %1 = nn.dense(%x, %w, units=3);
  (%0, %1)
}
"""
SCALED = """\
def @main(%x: Tensor[(1, 2, 8, 8), float32], %w: Tensor[(4, 2, 3, 3), float32]) {
  %0 = multiply(%x, 2f);
  %1 = nn.conv2d(%0, %w);
  nn.relu(%1)
}
"""
PRIMITIVE = """\
def @main(%x: Tensor[(4,), float32], Primitive=1) {
  sort(%x)
}
"""
LOOPS = """\
@main = primfn(a: handle, n: int32) -> ()
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [n], [])}
  buffer_map = {a: A} {
  for (i: int32, 0, n) {
    for (j: int32, 0, 2) {
      A[i] = 1f32;
    }
  }
  for (k: int32, 0, 9) {
    A_1[k] = 2f32;
  }
  for (m: int32, 0, 4) "vectorized" {
    A_1[m] = 3f32;
    if (m < n) {
      A_1[m] = 4f32;
    }
  }
}
"""
# By what is told: passes, a program, and of each remark place, name, part of its text.
SAID: dict[str, tuple[list[Pass], str, list[tuple[str, str, str]]]] = {
    "fused what, and why not with the next": (
        [FuseOps()],
        CONVOLUTIONS,
        [
            ("4:8", "Fused", "fused operators (ops=nn.conv2d, nn.relu)"),
            (
                "4:8",
                "NotFused",
                "operator: each needs a loop nest of its own (op=nn.relu",
            ),
            ("5:8", "NotFused", "the paths of its users meet in a tuple of results"),
            ("6:8", "NotFused", "one is opaque, and never fused (op=sum, next=sort"),
        ],
    ),
    "nothing fused": (
        [FuseOps(0)],
        "def @main(%x: Tensor[(2,), float32]) {\n  %0 = exp(%x);\n  log(%0)\n}\n",
        [
            (
                "2:8",
                "NotFused",
                "operator: nothing is fused at level 0 (op=exp, next=log",
            )
        ],
    ),
    "folded what, and which constant was too large": (
        [FoldConstant()],
        CONSTANTS,
        [
            ("2:8", "Folded", "evaluated on constants (op=add)"),
            ("3:8", "Folded", "evaluated on constants (op=full)"),
            ("5:8", "Folded", "evaluated by its type (op=shape_of)"),
            ("4:8", "NotFolded", "'exp' is not evaluated: that takes 80,000,000,000 b"),
        ],
    ),
    "dropped, inlined, kept and merged what": (
        [DeadCodeElimination(inline_once=True), EliminateCommonSubexpr()],
        BINDINGS,
        [
            ("4:15", "Kept", "unused, but kept: it may have effects (variable=s"),
            ("3:15", "Inlined", "inlined at its only use (variable=once)"),
            ("2:15", "Dropped", "removed: it is unused (variable=dead)"),
            ("7:8", "Merged", "merged with an equal one before it (op=exp, at=f:6:8)"),
        ],
    ),
    "inlined or not": (
        [Inline()],
        CALLS,
        [
            ("10:1", "NotInlined", "not inlined: it calls itself"),
            ("2:8", "Inlined", "inlined (Callee=twice)"),
        ],
    ),
    "why a layout was kept by the target's rules": (
        [AlterOpLayout()],
        CONVOLUTIONS,
        [
            ("3:8", "LayoutKept", "its output channels are no multiple of 4"),
            ("5:8", "LayoutKept", "its output channels are no multiple of 4"),
        ],
    ),
    "where a layout goes on, and where not": (
        [ConvertLayout({"nn.conv2d": ["NHWC", "default"]})],
        CONVOLUTIONS,
        [
            ("3:8", "LayoutChanged", "(op=nn.conv2d, old=NCHW, new=NHWC)"),
            ("4:8", "LayoutFollowed", "(op=nn.relu, old=NCHW, new=NHWC)"),
            ("5:8", "LayoutChanged", "(op=nn.conv2d, old=NCHW, new=NHWC)"),
            (
                "7:8",
                "LayoutKept",
                "no rule handles the layout of its inputs",
            ),
            ("6:8", "LayoutFollowed", "(op=sum, old=NCHW, new=NHWC)"),
        ],
    ),
    "combined": (
        [CombineParallelDense(2, to_batch=False)],
        PRODUCTS,
        [("3:8", "Combined", "combined calls of the same data (op=nn.dense, calls=2)")],
    ),
    "too few to be combined": (
        [CombineParallelDense(3, to_batch=False)],
        PRODUCTS,
        [
            (
                "3:8",
                "NotCombined",
                "fewer calls than min_num_branches (op=nn.dense, call",
            )
        ],
    ),
    "into which weight a scale went": (
        [ForwardFoldScaleAxis()],
        SCALED,
        [("3:8", "Folded", "a scale was folded into its weight (op=nn.conv2d)")],
    ),
    "which kernel has no lowering rule": (
        [LowerToTIR("llvm")],
        PRIMITIVE,
        [("2:3", "NoLoweringRule", "so numpy computes it: no rule for 'sort'")],
    ),
    "unrolled and vectorized, or not": (
        [UnrollLoop(), VectorizeLoop()],
        LOOPS,
        [
            ("5:5", "Unrolled", "unrolled (loop=j, rounds=2)"),
            ("4:3", "NotUnrolled", "its number of iterations is not constant (loop=i)"),
            ("9:3", "NotUnrolled", "auto_max_extent allow (loop=k, rounds=9)"),
            ("12:3", "Vectorized", "vectorized (loop=m, lanes=4)"),
            ("14:5", "NotVectorized", "no vector form (loop=m, statement=IfThenElse)"),
        ],
    ),
    "vectorization is off": (
        [VectorizeLoop(enable_vectorize=False)],
        LOOPS,
        [("12:3", "NotVectorized", "vectorization is off (loop=m)")],
    ),
}
CONFIG = {"tir.UnrollLoop": {"auto_max_step": 4}}
AVX2 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")


def said(mod: IRModule, root: Pass, runner: Runner | None = None) -> RemarksInstrument:
    log = RemarksInstrument()
    config = CONFIG if runner is None else {**CONFIG, **POOLED}
    context = PassContext(opt_level=4, instruments=[log], config=config)
    with context, AVX2:
        root(mod) if runner is None else runner.run_sync(mod, root)
    return log


@pytest.mark.parametrize("what", SAID)
def test_passes_say(what: str, runner: Runner) -> None:
    passes, text, expected = SAID[what]
    mod, root = relay.parse(text, "f"), Sequential(passes)
    log = said(mod, root)
    found = sorted((str(one.span), one.name, one.text) for one in log.remarks)
    for (span, name, text), (place, of, part) in zip(
        found, sorted(expected), strict=True
    ):
        assert (span, name, part in text) == (f"f:{place}", of, True), text
    assert said(mod, root, runner).remarks == log.remarks


FUSED = Path(__file__).parents[2] / "cases" / "relay" / "fuse_ops.txt"


@pytest.mark.parametrize("level", [0, 2])
def test_each_fused_function_with_a_user_has_one_reason(level: int) -> None:
    """The reasons are worked out apart from the rules, so none may contradict them."""
    for case in read_cases(FUSED):
        mod = read_program(case.before.text, case.name)
        missed = [
            (one.function, one.span, one.values["op"])
            for one in said(mod, Sequential([FuseOps(level)])).remarks
            if one.kind is RemarkKind.MISSED
        ]
        made = FuseOps(level)(mod)
        assert len(missed) <= sum(
            isinstance(node, Function) and node.has_nonzero_attr("Primitive")
            for function in made.functions_by_name.values()
            for node in post_order(function)
        )


def test_a_rule_of_layouts_may_say_why_it_leaves_an_operator() -> None:
    def leave(*_args: Any) -> str:
        return "not today"

    with TempOpAttr("nn.conv2d", ALTER_OP_LAYOUT, leave):
        log = said(relay.parse(CONVOLUTIONS, "f"), AlterOpLayout())
    assert [one.message for one in log.remarks] == ["layout kept: not today"] * 2
