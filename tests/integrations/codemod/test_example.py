"""The example of codemods, on files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.integrations.codemods import contents, write_files

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_files_are_changed_if_asked_for_and_keep_their_format(tmp_path: Path):
    text = "x = 'a {}'.format( 1 )  # kept\ny = '%s' % ( x,)\n"
    folder = write_files(tmp_path, old=text)  # one, for which no worker starts
    command = [sys.executable, "-W", "error", "examples/codemods.py", str(folder)]
    for options in [], ["--write"]:
        told = subprocess.check_output(
            [*command, *options], text=True, cwd=ROOT, timeout=200
        )
        assert told.count(f"changed: {folder / 'old.py'}\n") == 2
        assert ("{}" in (folder / "old.py").read_text()) == (not options)
    assert contents(folder) == {
        "old.py": b"x = f'a {1}'  # kept\ny = f'{x}'\n",
    }
