"""The IRs that a program has, by the modules that make all of them known.

They are loaded when somebody asks for what only they know: the kinds in a JSON text,
an operator, a pass by its name.
"""

from __future__ import annotations

import importlib

_modules: dict[str, str] = {}


def declare_ir(module_name: str, prefix: str = "") -> None:
    """Name a module whose import registers an IR's nodes, operators and passes.

    Args:
        module_name: The module.
        prefix: What the names of its operators begin with, and no others.
    """
    _modules[module_name] = prefix


def load_irs(of: str | None = None) -> None:
    """Import what was declared, if that has not been done yet.

    Args:
        of: The name of an operator; only what may know it is imported then.
    """
    prefixes = {prefix for prefix in _modules.values() if prefix}
    own = next((one for one in prefixes if of is not None and of.startswith(one)), "")
    for name, prefix in _modules.items():
        if of is None or prefix == own:
            importlib.import_module(name)
