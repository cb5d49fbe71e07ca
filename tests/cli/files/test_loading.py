"""`--load`: what cannot be loaded is told without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax"),
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero\n  at {path}:2\n"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3\n  at {path}:2\n"),
        ("import nowhere_at_all\n", "No module named 'nowhere_at_all'"),
    ],
)
def test_a_broken_file_is_an_input_error(tmp_path: Path, content: str, message: str):
    path = tmp_path / "broken.py"
    path.write_text(content)
    result = CliRunner().invoke(main, ["opt", str(path), "--load", str(path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: '{path}' cannot be loaded: ")
    assert message.format(path=path) in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_not_there_is_an_input_error():
    result = CliRunner().invoke(main, ["opt", __file__, "--load", "none.py"])
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
