"""The changes by a pass that instruments get, with how to run the pass again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from parpass.transform.adapter import ModuleAdapter
from parpass.transform.capture.change import FunctionChange, Origin
from parpass.transform.checked_adapter import overrides
from parpass.transform.passes import Pass
from parpass.transform.pipeline.printer import print_pipeline


class Origins:
    """Adds to changes of a run how to run the pass again.

    `mod` is the module of the run, as an object.
    """

    def __init__(self, adapter: ModuleAdapter, mod: Any) -> None:
        self._adapter, self._mod = adapter, mod

    def real_changes(
        self, pass_: Pass, changes: Iterable[FunctionChange]
    ) -> list[FunctionChange]:
        """Return the changes by a pass that are real, with their origin.

        What the restoring pass undid is no real change.
        """
        origin = _origin(pass_, self._adapter, self._mod)
        return [replace(one, origin=origin) for one in changes if one.is_real]


def _origin(pass_: Pass, adapter: ModuleAdapter, mod: Any) -> Origin:
    programs = adapter.programs(mod)
    restoring = adapter.restoring_pass(pass_.function_kind)
    is_itself = restoring is not None and restoring.info.name == pass_.info.name
    return Origin(
        pipeline=_text(pass_),
        restoring=None if restoring is None or is_itself else _text(restoring),
        ir_name=programs.ir_name,
        suffix=next(iter(programs.suffixes), ".txt"),
        line_comment=programs.line_comment,
        is_annotated=overrides(adapter, "function_text"),
    )


def _text(pass_: Pass) -> str | None:
    try:
        return print_pipeline(pass_)
    except Exception:  # noqa: BLE001 -- options may be of any kind, and raise anything
        return None
