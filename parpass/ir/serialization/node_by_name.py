"""Nodes, types and attributes made by the names that they have in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from parpass.errors import IRTypeError, did_you_mean
from parpass.ir.attrs import Attrs, DictAttrs
from parpass.ir.serialization.kinds import ambiguous, known_kinds


def make_node(type_key: str, **kwargs: Any) -> Any:
    """Return what has this name and these fields, such as `relay.attrs.ClipAttrs`.

    Args:
        type_key: `DictAttrs`, or the name of a class as `save_json` writes it.
        **kwargs: Its fields; those that have a default may be left out.

    Raises:
        IRTypeError: There is no such class, or it has other fields.
    """
    if type_key == "DictAttrs":
        return DictAttrs(kwargs)
    kinds = known_kinds()
    kind = kinds.get(type_key)
    if kind is None:
        raise IRTypeError(f"no node named '{type_key}'{did_you_mean(type_key, kinds)}")
    if kind.rival is not None:
        raise IRTypeError(ambiguous(kind))
    fields = {name: _unlisted(value) for name, value in kwargs.items()}
    for name, value in fields.items():
        field = kind.fields.get(name)
        if field is None:
            hint = did_you_mean(name, kind.fields)
            raise IRTypeError(f"'{type_key}' has no field named '{name}'{hint}")
        misfit = field.check(value)
        if misfit is not None:
            where = f"{name}{misfit.where}"
            raise IRTypeError(
                f"'{type_key}': expected {misfit.expected} for {where}, "
                f"not {misfit.found}"
            )
    missing = sorted(kind.required - fields.keys())
    if missing:
        raise IRTypeError(f"'{type_key}' needs the fields {', '.join(missing)}")
    made = kind.make(**fields)
    if isinstance(made, Attrs):
        made.check()
    return made


def _unlisted(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return tuple(map(_unlisted, cast("Sequence[Any]", value)))
