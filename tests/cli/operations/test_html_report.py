"""The option `--report` writes a page, however the run ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parpass.cli.output import progress_display
from parpass.report.html import page
from tests.support.cli import commands
from tests.support.cli.calling import opt

MODEL = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(nn.relu(%x)) }\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.relay").write_text(MODEL)
    return tmp_path / "model.relay"


def test_the_page_is_beside_what_is_written_without_it(model: Path):
    page = model.with_name("report.html")
    passes = (model, "-p", "InferType,FuseOps")
    result = opt(*passes, "--report", page)
    assert result.exit_code == 0
    assert (result.stdout, result.stderr) == (opt(*passes).stdout, "")
    assert '"name":"FuseOps"' in page.read_text(encoding="utf-8")


def test_a_pass_that_fails_is_named_on_the_page(model: Path):
    page = model.with_name("report.html")
    name = commands.FailAlways.pass_info.name
    result = opt(model, "-p", f"test.{name}", "--report", page)
    assert result.exit_code == 1
    assert '"failure":"The run failed: ' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("quiet", "lines"), [((), 1), (("-q",), 0)])
def test_while_the_page_is_written_the_command_says_so(
    model: Path, monkeypatch: pytest.MonkeyPatch, quiet: tuple[str, ...], lines: int
):
    monkeypatch.setattr(page, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(progress_display, "_LINE_SECONDS", 0.0)
    report = model.with_name("report.html")
    result = opt(model, "-p", "InferType", "--report", report, *quiet)
    assert result.exit_code == 0
    told = re.findall(
        r"Progress: 1 of 1 functions, .* \(writing the report\)\n", result.stderr
    )
    assert len(told) == lines


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/report.html", "directory 'nowhere' does not exist"),
        ("same.relay", "-o also writes to 'same.relay'"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_the_run(
    model: Path, name: str, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(model.parent)
    result = opt(model, "-p", "InferType", "-o", "same.relay", "--report", name)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("same.relay").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_is_a_warning_and_the_result_stands(model: Path):
    result = opt(model, "-p", "InferType", "--report", "/dev/full")
    assert result.exit_code == 0
    assert "Warning: cannot write '/dev/full': No space left on device" in result.stderr
    assert "def @main" in result.stdout
