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
# Lines as the printer writes them.
PRINTED = """def @main(%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]) {
  %0 = add(%x, %y);
  %1 = split(%0, indices_or_sections=2);
  let %z = add(%1.0, 2f);
  let %w = negative(%z);
  %2 = nn.softmax(%w, axis=-1);
  %3 = nn.softmax(%2, axis=-1);
  %4 = nn.softmax(%3);
  %5 = reshape(%4, newshape=[-1, 2]);
  %6 = cast(%5, dtype="float16");
  %7 = cast(%6, dtype="float16");
  %8 = concatenate(%1, axis=1);
  %9 = @other(%7, %8, meta[relay.Constant][0], -1, True);
  %10 = %9.0;
  let %10 = @other(%10, 2f);
  %11 = @other(%10);
  %11(%9, 1i64)
}

def @other<A>(%x: A, k=1) {
  %0 = cast(%x, dtype="A");
  %1 = @other(%0, %0);
  %2 = add(%1, %1);
  %2
}
#[metadata]
{"relay.Constant": [{"dtype": "int8", "shape": [2], "repeat": "AQ=="}]}
"""


def pieces(text: str) -> list[str]:
    """Return the pieces that a text has, such as words and signs."""
    return re.findall(r'"[^"\n]*"|[\w.%@]+|\s+|[^\w\s]', text)


PIECES = pieces(HANDWRITTEN)

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
