"""Texts of programs that are damaged a little, so that some of them are still sound."""

from __future__ import annotations

import re

from hypothesis import strategies as st

HANDWRITTEN = """#[version = "0.0.5"]
#[attrs(target="llvm", opts={"k": [1, -2.5f, None, True]})]
def @main<A>(%x: Tensor[(1, ?), float32], %f: fn <B>(A, (B,)) -> (), Inline=1) -> A {
  // a comment
  let %y: (int32, ()) = nn.conv2d(%x, 1f, padding=[1, 1, 1, 1], out_dtype="float32");
  %0 = if (%x < %y.0) { -%y.1 * 2i64 /* and more */ } else { @f<int8, (A,)>(%x) };
  %1 = fn (%p) { %"odd name" = (%p, ()); %"odd name" + %0 };
  %1(meta[relay.Constant][0], meta[relay.Constant][1])
}

def @f<A, B>(%x) { { let %z = True; (%z == %x, 0.5f16, -3) } }
#[metadata]
{"relay.Constant": [
{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="},
{"dtype": "int64", "shape": [4, 5], "repeat": "AQAAAAAAAAA="}
]}
"""
PIECES = re.findall(r'"[^"\n]*"|[\w.%@]+|\s+|[^\w\s]', HANDWRITTEN)

TOKENS = st.sampled_from(PIECES)


@st.composite
def damaged(draw: st.DrawFn, pieces: list[str]) -> str:
    """Give a text in which some pieces are lost, doubled, swapped or others."""
    pieces = list(pieces)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        other = draw(st.integers(0, len(pieces) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                pieces[at] = ""
            case 1:
                pieces[at] *= 2
            case 2:
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case 3:
                pieces[at] = draw(TOKENS)
            case _:
                pieces[at] = draw(st.text(max_size=3))
    return "".join(pieces)
