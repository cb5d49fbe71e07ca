"""Attributes as they stand in a text: `name=value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from parpass.diagnostic import Span
from parpass.ir.attrs import DictAttrs
from parpass.ir.text.problems import Problems


class Attribute(msgspec.Struct, frozen=True):
    """`name=value`, as it stands in a text; `place` is where the name is."""

    name: str
    value: Any
    place: Span


def by_name(attributes: Sequence[Attribute], problems: Problems) -> dict[str, Any]:
    """Return attributes as a mapping; report those that are given twice."""
    values: dict[str, Any] = {}
    for attribute in attributes:
        if attribute.name in values:
            problems.report(
                attribute.place, f"attribute '{attribute.name}' is given twice"
            )
        values[attribute.name] = attribute.value
    return values


def dict_attrs(attributes: Sequence[Attribute], problems: Problems) -> DictAttrs | None:
    """Return attributes of any names as a mapping, None if there are none."""
    values = by_name(attributes, problems)
    return DictAttrs(values) if values else None
