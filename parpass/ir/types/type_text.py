"""Types as text.

What is shared inside of a type is written wherever it stands, so a type is written only
if it is not too large.
"""

from __future__ import annotations

from collections.abc import Callable

from parpass.ir.types.type_structure import MAX_TYPE_SIZE, Type, check_size, extent

SHOWN = 1_000  # parts of a type that messages show


def type_text(typ: Type, of_leaf: Callable[[Type], str] = str) -> str:
    """Return the whole text of a type; `str` leaves out inner parts of a large one.

    Args:
        typ: The type.
        of_leaf: Gives the text of a part that is not made of others.

    Raises:
        SizeLimitError: It is too large to be written.
    """
    check_size(typ)
    return short_text(typ, MAX_TYPE_SIZE, of_leaf)


def short_text(
    typ: Type, most: int = SHOWN, of_leaf: Callable[[Type], str] = str
) -> str:
    """Return a type as text; `...` stands for parts beyond `most`."""
    if not typ.is_composed:
        return of_leaf(typ)
    if most == 0:
        return "..."
    parts = typ.parts
    inner = most if extent(typ).size <= most else most // len(parts)
    texts = [short_text(part, inner, of_leaf) for part in parts[:most]]
    if len(parts) > most:
        texts.append("...")
    return typ.worded(texts)


__all__ = ["SHOWN", "short_text", "type_text"]
