"""Which modules are of the program."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from parpass.program_modules import is_of_program


def test_what_is_frozen_into_python_is_not_of_the_program_wherever_its_file_is(
    monkeypatch: pytest.MonkeyPatch,
):
    """PyInstaller's programs have `io` and `os` in their own folder."""
    module = ModuleType("frozen_one")
    module.__spec__ = ModuleSpec("frozen_one", None, origin="frozen")
    module.__file__ = "/of/a/program/frozen_one.pyc"
    monkeypatch.setitem(sys.modules, "frozen_one", module)
    assert not is_of_program("frozen_one")
    module.__spec__.origin = module.__file__
    assert is_of_program("frozen_one")
