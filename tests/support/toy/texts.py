"""A foreign IR whose functions are texts, for changes from any text to any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parpass.instrument import PassInstrument
from parpass.transform import (
    ModuleAdapter,
    ModulePass,
    PassContext,
    PassInfo,
    register_adapter,
)
from parpass.transform.capture.change import FunctionChange


@dataclass(frozen=True)
class Texts:
    """A module of texts, by name."""

    functions: Mapping[str, str]


class _TextsAdapter(ModuleAdapter):
    module_type = Texts
    function_type = str
    mutability = None

    def size(self, function: str, limit: int) -> int:
        return min(len(function), limit)

    def function_text(self, name: str, function: str, mod: Any) -> str:
        return function


register_adapter(Texts, _TextsAdapter())


class _Replace(ModulePass):
    pass_info = PassInfo(opt_level=0, name="Replace")

    def __init__(self, made: Texts) -> None:
        self.made = made

    def transform_module(self, mod: Texts, ctx: PassContext) -> Texts:
        return self.made


class _Changes(PassInstrument):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[FunctionChange] = []

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        self.found.append(change)


def change_of(name: str, before: str | None, after: str | None) -> FunctionChange:
    """Return the change that an instrument gets; None where there is no function."""
    given, made = (
        Texts({} if text is None else {name: text}) for text in (before, after)
    )
    instrument = _Changes()
    with PassContext(instruments=[instrument]):
        _Replace(made)(given)
    (change,) = instrument.found
    return change
