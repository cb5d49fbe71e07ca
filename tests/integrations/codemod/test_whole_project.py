"""The page's session on the sources of the standard library shows what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs import snippets

PAGE = Path(__file__).parents[3] / "docs" / "with-codemods.md"
SESSION = re.compile(
    r"^```text\n\$ ((?:[^\n]*\\\n)*[^\n]*)\n([^`]*)^```$", re.MULTILINE
)
NUMBER = re.compile(r"\d[\d,.]*")


@pytest.mark.stress
def test_a_thousand_files_are_changed_crash_and_are_interrupted(tmp_path: Path):
    [code] = [one.code for one in snippets(PAGE) if one.file == "modern.py"]
    (tmp_path / "modern.py").write_text(code, encoding="utf-8")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = SESSION.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 4
    for command, shown in found:
        ran = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": search},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=200,
        )
        printed = "".join(
            line
            for line in ran.stdout.splitlines(True)
            if not line.startswith("Progress: ")  # where it takes longer
        )
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown), command
