"""What type checkers make of an adapter: its methods may say what they take."""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from parpass.transform import ModuleAdapter, register_adapter


@dataclass(frozen=True)
class Program:
    functions: Mapping[str, str]


class Adapter(ModuleAdapter):
    module_type = Program
    function_type = str

    def with_functions(self, mod: Program, functions: Mapping[str, str]) -> Program:
        return replace(mod, functions=functions)

    def size(self, function: str, limit: int) -> int:
        return min(len(function), limit)


register_adapter(Program, Adapter())


class Lacking(ModuleAdapter):
    module_type = Program
    function_type = str


Lacking()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]
