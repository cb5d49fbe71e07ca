"""The commands in the docs print what the pages show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.console import console_blocks

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["command.md", "debugging.md", "writing-an-adapter.md"]
)
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path, name: str):
    page = PAGES / name
    # In a process of its own: here, tests have registered passes that would be listed.
    result = subprocess.run(
        [sys.executable, "-m", "tests.support.console", str(page)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")
    assert len(console_blocks(page)) > 5
