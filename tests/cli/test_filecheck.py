"""The tests that the page on lit and FileCheck shows, run by both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs.console import write_files

PAGE = Path(__file__).parents[2] / "docs" / "filecheck.md"


def lit(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder."""
    scripts = str(Path(sys.executable).parent)
    return subprocess.run(
        [sys.executable, "-c", "import lit.main; lit.main.main()", "-v", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_the_tests_of_the_page_pass_and_fail_when_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    write_files(PAGE)
    good = lit(tmp_path)
    assert good.returncode == 0, good.stdout
    for line in ("PASS: passes :: errors.relay", "PASS: passes :: fold.relay"):
        assert line in good.stdout
        assert line in PAGE.read_text()
    for name, change in (
        ("fold.relay", ("3f", "4f")),
        ("errors.relay", ("%y'", "%z'")),
    ):
        text = Path(name).read_text()
        Path(name).write_text(text.replace(*change))
    bad = lit(tmp_path)
    assert bad.returncode == 1
    assert "Failed: 2" in bad.stdout
