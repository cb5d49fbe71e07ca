"""The IRs that a program has, by the modules that make all of them known.

They are loaded when somebody asks for what only they know: the kinds in a JSON text,
an operator, a pass by its name.
"""

from __future__ import annotations

import importlib

_modules: list[str] = []


def declare_ir(module_name: str) -> None:
    """Name a module whose import registers an IR's nodes, operators and passes."""
    _modules.append(module_name)


def load_irs() -> None:
    """Import what was declared, if that has not been done yet."""
    for name in _modules:
        importlib.import_module(name)
