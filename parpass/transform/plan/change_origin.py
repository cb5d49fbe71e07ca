"""The changes by a pass that instruments are told, with how to run the pass again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from parpass.transform.adapter_registry import adapter_of
from parpass.transform.capture.change import FunctionChange, Origin
from parpass.transform.passes import Pass
from parpass.transform.pipeline.printer import print_pipeline


def told_changes(
    pass_: Pass, mod: Any, changes: Iterable[FunctionChange]
) -> list[FunctionChange]:
    """Return the changes that are real, with their origin.

    Args:
        pass_: The pass.
        mod: The module that it was given.
        changes: Its changes; what the restoring pass undid is none.
    """
    origin = _origin(pass_, mod)
    return [replace(one, origin=origin) for one in changes if one.is_real]


def _origin(pass_: Pass, mod: Any) -> Origin:
    adapter = adapter_of(mod, pass_.info.name)
    programs = adapter.programs(mod)
    kind = getattr(pass_, "function_kind", "")
    restoring = adapter.restoring_pass(kind)
    is_itself = restoring is not None and restoring.info.name == pass_.info.name
    return Origin(
        pipeline=_text(pass_),
        restoring=None if restoring is None or is_itself else _text(restoring),
        ir_name=programs.ir_name,
        suffix=next(iter(programs.suffixes), ".txt"),
        line_comment=programs.line_comment,
    )


def _text(pass_: Pass) -> str | None:
    try:
        return print_pipeline(pass_)
    except Exception:  # noqa: BLE001 -- options may be of any kind, and raise anything
        return None
