"""The tree of pipeline text: what was written, without knowing any pass."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile(r"-?\d")

# What unquoted words mean where nothing is known of the option.
WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "inf": float("inf"),
    "-inf": float("-inf"),
    "nan": float("nan"),
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A word, a number or a string.

    Attributes:
        value: What it means where nothing is known of the option.
        word: The text if it is not quoted, which is meant where a string is expected.
    """

    value: Any
    word: str | None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `depth` is the number of lists in each other, this one included."""

    elements: Sequence[Value]
    depth: int


Value = Scalar | Items


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass, at an offset in the text."""

    at: int
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Item:
    """A pass, at an offset in the text.

    Attributes:
        children: The passes in parentheses; None if there are no parentheses.
        depth: The number of passes or lists in each other, this pass included.
    """

    at: int
    name: str
    options: Sequence[Option]
    children: Sequence[Item] | None
    depth: int


class TreeBuilder:
    """Called by the parser with the parts of each rule, from the inside out."""

    def pipeline(self, parts: list[Any]) -> list[Any]:
        """Return the passes."""
        return parts

    children = options = pipeline

    def item(self, parts: list[Any]) -> Item:
        """Return a pass with its options and children."""
        name, options, children = parts
        inside = [option.value for option in options or ()] + (children or [])
        depth = 1 + max((part.depth for part in inside), default=0)
        return Item(name.start_pos, str(name), options or (), children, depth)

    def option(self, parts: list[Any]) -> Option:
        """Return an option; without a value it is true."""
        key, *value = parts
        name = key.replace("-", "_")
        return Option(key.start_pos, name, value[0] if value else Scalar(True, None))

    def bracketed(self, parts: list[Any]) -> Items:
        """Return a list."""
        return Items(parts, 1 + max((part.depth for part in parts), default=0))

    flat_list = bracketed

    def word(self, parts: list[Any]) -> Scalar:
        """Return a word that is not quoted."""
        word = str(parts[0])
        if word in WORDS:
            return Scalar(WORDS[word], word)
        if _NUMBER.match(word):
            try:
                return Scalar(json.loads(word), word)
            except ValueError:
                pass  # such as a version, 1.2.3
        return Scalar(word, word)

    def string(self, parts: list[Any]) -> Scalar:
        """Return the string between quotes."""
        quoted = str(parts[0])
        if quoted[0] == "'":
            return Scalar(quoted[1:-1], None)
        return Scalar(json.loads(quoted, strict=False), None)
