"""Names as text: quoted where they must be, unique where they are not; and back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parpass.relay.expr import Var

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


class VarNames:
    """Gives every variable a name of its own: `%x`, `%x_1`, ... by first appearance."""

    def __init__(self) -> None:
        self._names: dict[Var, str] = {}
        self._suffixes: dict[str, int] = {}

    def text_of(self, var: Var) -> str:
        """Return the name of a variable."""
        if var not in self._names:
            self._names[var] = f"%{name_text(self._unique(var.name_hint))}"
        return self._names[var]

    def _unique(self, hint: str) -> str:
        name, suffixes = hint, self._suffixes
        while name in suffixes:
            suffixes[hint] += 1
            name = f"{hint}_{suffixes[hint]}"
        suffixes[name] = 0
        return name
