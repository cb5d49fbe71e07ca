"""PyInstaller's hook for parpass, which finds the modules that are loaded late.

PyInstaller finds this package by the entry point `hook-dirs` of `pyinstaller40`.
"""

from __future__ import annotations

import os


def hook_dirs() -> list[str]:
    """Return the folders with hooks."""
    return [os.path.dirname(__file__)]
