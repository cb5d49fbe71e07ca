"""A loop program, and passes that it makes fail; a file to be given for `--load`."""

from __future__ import annotations

from typing import Any

from parpass import tir
from parpass.diagnostic import Diagnostic
from parpass.ir.module import IRModule
from parpass.tir.transform import prim_func_pass
from parpass.transform import PassContext, register_pass

PROGRAM = """\
@first = primfn(n: int32) -> () {
  n;
}

@kernel = primfn(a: handle, b: handle, n: int32) -> ()
  attr = {"global_symbol": "kernel", "k": [1, 2]}
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [16], []),
             B: Buffer(B_1: Pointer(float32), float32, [16], [])}
  buffer_map = {a: A, b: B} {
  for (i: int32, 0, n) "parallel" {
    A[i] = (B[i] + 1f32);
    if (i < 3) {
      let x: int32 = (i*2);
      B[x] = (A[floordiv(x, 7)]*@tir.exp(3f32, dtype=float32));
      @tir.call_extern("f", (n + x), dtype=int32);
    } else {
      B[i] = 0f32;
    }
  }
  A[0] = 2f32;
}

def @main(%x: float32) {
  exp(%x)
}
"""


def _calls_exp(func: Any) -> Any:
    found: list[Any] = []
    tir.stmt_functor.post_order_visit(func.body, found.append)
    calls = (one for one in found if isinstance(one, tir.Call))
    return next((one for one in calls if one.op.name == "tir.exp"), None)


@register_pass("tir.transform.FailOnLoopExp")
@prim_func_pass(opt_level=0)
def FailOnLoopExp(func: Any, mod: IRModule, ctx: PassContext) -> Any:  # noqa: N802
    """Fail on functions that call `tir.exp`."""
    if _calls_exp(func) is not None:
        raise ValueError("no exp")
    return func


@register_pass("tir.transform.DiagnoseLoopExp")
@prim_func_pass(opt_level=0)
def DiagnoseLoopExp(func: Any, mod: IRModule, ctx: PassContext) -> Any:  # noqa: N802
    """Report where functions call `tir.exp`."""
    call = _calls_exp(func)
    if call is not None:
        assert ctx.diag_ctx is not None
        ctx.diag_ctx.emit(Diagnostic.error(call.span, "no exp here"))
    return func
