"""Bytes that are damaged a little."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def damages(draw: st.DrawFn, data: bytes) -> bytes:
    """Give bytes of which some are flipped, replaced, cut off, lost or doubled."""
    found = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(found) - 1)))
        length = draw(st.integers(0, 4))
        match draw(st.integers(0, 3)):
            case 0 if found:
                found[at] ^= 1 << draw(st.integers(0, 7))
            case 1:
                found[at : at + length] = draw(st.binary(max_size=4))
            case 2:
                del found[at:]
            case _:
                found[at:at] = found[at : at + length]
    return bytes(found)
