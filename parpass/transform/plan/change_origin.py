"""The changes by a pass that instruments get, with how to run the pass again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from parpass.transform.adapter import ModuleAdapter
from parpass.transform.capture.change import FunctionChange, Origin
from parpass.transform.checked_adapter import overrides
from parpass.transform.pass_info import is_restoring
from parpass.transform.passes import Pass
from parpass.transform.pipeline.printer import print_pipeline


def real_changes(
    pass_: Pass, changes: Iterable[FunctionChange], adapter: ModuleAdapter, mod: Any
) -> list[FunctionChange]:
    """Return the changes by a pass that are real, with how to run the pass again.

    What the restoring pass undid is no real change. `mod` is the module that the run
    began with, as an object.
    """
    programs = adapter.programs(mod)
    restoring = adapter.restoring_pass(pass_.function_kind)
    if is_restoring(pass_, restoring):
        restoring = None
    origin = Origin(
        pipeline=_text(pass_),
        restoring=None if restoring is None else _text(restoring),
        ir_name=programs.ir_name,
        suffix=next(iter(programs.suffixes), ".txt"),
        line_comment=programs.line_comment,
        is_annotated=overrides(adapter, "function_text"),
    )
    return [replace(one, origin=origin) for one in changes if one.is_real]


def _text(pass_: Pass) -> str | None:
    try:
        return print_pipeline(pass_)
    except Exception:  # noqa: BLE001 -- options may be of any kind, and raise anything
        return None
