"""Names as text: quoted where they must be, unique where they are not; and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name_text(name: str) -> str:
    """Return a name as it is, in quotes where it is not of letters, digits and `_`."""
    return name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)


def read_name(text: str) -> str:
    """Return the name of which this is the text, without its sigil.

    Raises:
        ValueError: What stands in quotes is no JSON string.
    """
    if not text.startswith('"'):
        return str(text)  # not a token, which is a kind of string
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON string: {error.msg}") from None


def relay_name(name: str) -> str:
    """Return the name of a Relay variable: `%x`, `%"a b"`."""
    return f"%{name_text(name)}"


class VarNames:
    """Gives every variable a name of its own: `x`, `x_1`, ... by first appearance.

    Args:
        as_text: How a name is written.
    """

    def __init__(self, as_text: Callable[[str], str] = relay_name) -> None:
        self._as_text = as_text
        self._names: dict[Any, str] = {}
        self._suffixes: dict[str, int] = {}

    def text_of(self, var: Any, hint: str) -> str:
        """Return the name of a variable.

        Args:
            var: The variable.
            hint: The name that it has, if no other one has it.
        """
        if var not in self._names:
            self._names[var] = self._as_text(self._unique(hint))
        return self._names[var]

    def _unique(self, hint: str) -> str:
        name, suffixes = hint, self._suffixes
        while name in suffixes:
            suffixes[hint] += 1
            name = f"{hint}_{suffixes[hint]}"
        suffixes[name] = 0
        return name
