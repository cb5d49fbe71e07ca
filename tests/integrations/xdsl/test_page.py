"""What the page on xDSL shows runs, and its example gives what xDSL gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.integrations.xdsl import FUNCTION_LOCAL
from tests.support.docs.steps import snippets

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "xdsl.md"


@pytest.mark.slow
def test_the_programs_of_the_page_run(tmp_path: Path):
    for snippet in snippets(PAGE):
        (tmp_path / (snippet.file or "program.py")).write_text(snippet.text)
    command = [sys.executable, "-W", "error", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    path = tmp_path / "a.mlir"
    path.write_text("func.func @f() {\n  func.return\n}\n")
    load = ["--load", str(tmp_path / "own.py")]
    told = CliRunner().invoke(main, ["opt", str(path), *load, "-p", "mark,cse"])
    assert "own.mark" in told.output


def test_the_page_tells_how_long_the_table_is():
    assert f"{len(FUNCTION_LOCAL)} in all" in PAGE.read_text()


@pytest.mark.slow
def test_the_example_gives_what_xdsl_gives():
    told = subprocess.check_output(
        [sys.executable, "-W", "error", "examples/xdsl_functions.py", "2", "1"],
        text=True,
        cwd=ROOT,
        timeout=200,
    )
    assert told.count(" x  same\n") == 5
    assert "ANOTHER" not in told
