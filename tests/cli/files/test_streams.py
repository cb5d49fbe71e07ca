"""Standard streams that are closed, or that nobody reads to the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import write_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "relu.onnx", "Relu")


def shell(line: str, model: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in which `parpass` and `MODEL` stand for themselves."""
    line = line.replace("parpass", f"{sys.executable} -m parpass", 1)
    return subprocess.run(
        ["sh", "-c", line.replace("MODEL", str(model))],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("parpass opt MODEL >&-", 2, "Error: cannot write: standard output is closed"),
        ("parpass opt - <&-", 2, "Error: cannot read: standard input is closed"),
        ("parpass opt MODEL -o /dev/null >&- <&-", 0, ""),
        ("parpass opt --list-passes | head -n 1 >/dev/null", 0, ""),
    ],
)
def test_a_closed_stream_is_told_in_a_line(
    line: str, code: int, message: str, model: Path
):
    result = shell(line, model)
    assert (result.returncode, result.stderr.strip()) == (code, message)


@pytest.mark.slow
def test_without_standard_error_what_would_be_said_is_dropped(model: Path):
    flags = "-p InferType --timing --explain-speed --statistics --print-ir-after-all"
    result = shell(f"parpass opt MODEL {flags} 2>&-", model)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("def @main")
    failed = shell("parpass opt MODEL --nope 2>&-", model)
    assert (failed.returncode, failed.stdout) == (2, "")


@pytest.mark.slow
def test_a_file_does_not_take_the_number_of_a_closed_stream(
    model: Path, tmp_path: Path
):
    passes = tmp_path / "writing.py"
    passes.write_text("import os\nos.system('echo not for the file >&2')\n")
    out = tmp_path / "out.relay"
    shell(f"parpass opt MODEL --load {passes} -o {out} 2>&- >&- <&-", model)
    assert out.read_text().startswith("def @main")
    assert "not for the file" not in out.read_text()
