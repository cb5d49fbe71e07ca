"""The texts of types in a program, and a limit on what they take."""

from __future__ import annotations

from parpass.errors import SizeLimitError
from parpass.ir.types.ty import Type
from parpass.ir.types.type_text import type_text

_MOST_TYPES_AND_ATTRIBUTES = 2**28  # characters in a text


class TypeTexts:
    """Bounds what types and attributes take, which may be far more than the program."""

    def __init__(self) -> None:
        self._left = _MOST_TYPES_AND_ATTRIBUTES
        self._texts: dict[int, tuple[Type, str]] = {}  # kept, or ids could recur

    def text(self, typ: Type) -> str:
        """Return the text of a type, which is often that of others."""
        if not typ.parts:
            return str(typ)
        if id(typ) not in self._texts:
            self._texts[id(typ)] = (typ, type_text(typ))
        return self._texts[id(typ)][1]

    def spend(self, text: str) -> str:
        """Return a text of types or attributes.

        Raises:
            SizeLimitError: With it there would be too much of them.
        """
        self._left -= len(text)
        if self._left < 0:
            raise SizeLimitError(
                f"expected at most {_MOST_TYPES_AND_ATTRIBUTES} characters of types "
                "and attributes in a text; save_json keeps shared what is shared"
            )
        return text
