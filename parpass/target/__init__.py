"""Machine code: its targets, and its generation from loop programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy, defining_modules

if TYPE_CHECKING:
    from parpass.target.build_library import build, lowering
    from parpass.target.code_gen import CodeGen
    from parpass.target.compiled_func import CompiledFunc
    from parpass.target.target import Target, TargetKind, create, list_kinds

__all__ = [
    "CodeGen",
    "CompiledFunc",
    "Target",
    "TargetKind",
    "build",
    "create",
    "list_kinds",
    "lowering",
]

_DEFINING_MODULES = defining_modules(
    {
        "target.code_gen": "CodeGen",
        "target.compiled_func": "CompiledFunc",
        "target.target": "Target TargetKind create list_kinds",
        "target.build_library": "build lowering",
    }
)

__getattr__, __dir__ = attach_lazy(__name__, _DEFINING_MODULES)
