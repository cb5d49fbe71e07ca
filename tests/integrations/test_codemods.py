"""The example of codemods: files as functions, in a program of one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_files_are_changed_if_asked_for_and_keep_their_format(tmp_path: Path):
    old = tmp_path / "old.py"
    old.write_text("x = 'a {}'.format( 1 )  # kept\ny = '%s' % ( x,)\n")
    (tmp_path / "new.py").write_text("x   = 1\n")
    command = [sys.executable, "-W", "error", "examples/codemods.py", str(tmp_path)]
    for options in [], ["--write"]:
        assert "{}" in old.read_text()
        told = subprocess.check_output(
            [*command, *options], text=True, cwd=ROOT, timeout=60
        )
        assert told.startswith(f"changed: {old}\n")
        assert told.count("changed:") == 1
    assert old.read_text() == "x = f'a {1}'  # kept\ny = f'{x}'\n"
    assert (tmp_path / "new.py").read_text() == "x   = 1\n"
