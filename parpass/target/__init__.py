"""Machine code: for which machine, and how it is made of loop programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

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

_HOME = {
    "CodeGen": "parpass.target.code_gen",
    "CompiledFunc": "parpass.target.compiled_func",
    "Target": "parpass.target.target",
    "TargetKind": "parpass.target.target",
    "build": "parpass.target.build_library",
    "create": "parpass.target.target",
    "list_kinds": "parpass.target.target",
    "lowering": "parpass.target.build_library",
}

__getattr__, __dir__ = attach_lazy(__name__, _HOME)
