"""What the page on TVM's wheel shows runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs.steps import snippets

pytestmark = pytest.mark.foreign

PAGE = Path(__file__).parents[3] / "docs" / "with-tvm.md"


@pytest.mark.slow
def test_the_programs_of_the_page_run(tmp_path: Path):
    for snippet in snippets(PAGE):
        (tmp_path / "program.py").write_text(snippet.text)
        command = [sys.executable, "-W", "error::UserWarning", "program.py"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
