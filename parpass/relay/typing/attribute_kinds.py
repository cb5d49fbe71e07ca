"""Whether the attributes of a call are of the kinds that its operator declares.

Builders check what they are given; a call that is made directly may hold anything.
"""

from __future__ import annotations

import functools
import typing
from typing import Any

from parpass.ir.attrs import Attrs
from parpass.ir.serialization.checks import Check, check_of


def wrong_attribute(attrs: Attrs) -> str | None:
    """Return what is wrong with the first attribute of a wrong kind, if any."""
    for name, check in _checks(type(attrs)):
        misfit = check(getattr(attrs, name))
        if misfit is not None:
            where = f"{name}{misfit.where}"
            return f"expected {misfit.expected} for '{where}', got {misfit.found}"
    return None


@functools.cache
def _checks(kind: type[Attrs]) -> list[tuple[str, Check]]:
    hints: dict[str, Any] = typing.get_type_hints(kind)
    return [(name, check_of(hints[name])) for name in kind.__struct_fields__]
