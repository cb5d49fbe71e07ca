"""Loop programs as text, in the style of the printer of TVM v0.8.

@main = primfn(a: handle, b: handle) -> ()
  attr = {"global_symbol": "main"}
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [16], []),
             B: Buffer(B_1: Pointer(float32), float32, [16], [])}
  buffer_map = {a: A, b: B} {
  for (i: int32, 0, 16) "parallel" {
    B[i] = (A[i] + 1f32);
  }
}
"""
