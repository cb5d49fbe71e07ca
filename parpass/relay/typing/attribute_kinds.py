"""Whether the attributes of a call are of the kinds that its operator declares.

Builders check what they are given; a call that is made directly may hold anything.
"""

from __future__ import annotations

import functools
import types
import typing
from typing import Any

from parpass.ir.attrs import Attrs
from parpass.ir.serialization.checks import Check, check_of


def wrong_attribute(attrs: Attrs) -> str | None:
    """Return what is wrong with the first attribute of a wrong kind, if any."""
    for name, plain, check in _checks(type(attrs)):
        value = getattr(attrs, name)
        misfit = None if type(value) in plain else check(value)
        if misfit is not None:
            where = f"{name}{misfit.where}"
            return f"expected {misfit.expected} for '{where}', got {misfit.found}"
    return None


# What is of these types fits where they are declared, without a closer look.
_PLAIN = frozenset({bool, float, int, str, type(None)})


@functools.cache
def _checks(kind: type[Attrs]) -> list[tuple[str, frozenset[type], Check]]:
    hints: dict[str, Any] = typing.get_type_hints(kind)
    return [
        (name, _plain_types(hints[name]), check_of(hints[name]))
        for name in kind.__struct_fields__
    ]


def _plain_types(hint: Any) -> frozenset[type]:
    is_union = typing.get_origin(hint) in {typing.Union, types.UnionType}
    return _PLAIN & set(typing.get_args(hint) if is_union else (hint,))
