"""The digest of a program is of the files that its modules were loaded from."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from parpass.runner.cache.program import UnknownProgramError, digests_of_sources


@pytest.mark.parametrize("name", ["", "gone.py"])
def test_without_a_file_that_can_be_read_there_is_none(tmp_path: Path, name: str):
    module = ModuleType("unreadable")
    module.__file__ = str(tmp_path / name)
    with pytest.raises(UnknownProgramError, match="module 'unreadable' cannot be read"):
        list(digests_of_sources({"unreadable": module}))
