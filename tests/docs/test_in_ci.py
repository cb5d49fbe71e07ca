"""The workflow on the page on CI runs, and the matcher finds diagnostics.

CI runs the long form here each time, not a share of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from docs.site.notebooks import Cell, cells

PAGE = Path(__file__).parents[2] / "docs" / "in-ci.md"


@pytest.fixture(scope="module")
def parts() -> list[Cell]:
    return list(cells(PAGE.read_text(encoding="utf-8")))


@pytest.mark.stress
def test_the_commands_of_the_workflow_write_what_it_keeps(
    parts: list[Cell], tmp_path: Path
):
    files = {part.file: part.text for part in parts if part.file}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    steps = yaml.safe_load(files["compile.yml"])["jobs"]["compile"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        if not command.startswith("pip install"):
            subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                env={**os.environ, "PATH": search},
                check=True,
            )
    kept = [step["with"]["path"] for step in steps if "path" in step.get("with", {})]
    assert len(kept) == 2
    for path in kept:
        assert (tmp_path / path).exists()


def test_the_matcher_finds_the_diagnostic_that_the_page_shows(parts: list[Cell]):
    [matcher] = [part for part in parts if part.file == "matcher.json"]
    [shown] = [
        part.shown for part in parts if "wrong.relay" in part.text and part.shown
    ]
    message, place = json.loads(matcher.text)["problemMatcher"][0]["pattern"]
    first, second, *_ = shown.splitlines()
    found = re.search(message["regexp"], first)
    assert found
    assert found[message["severity"]] == "error"
    assert found[message["message"]].startswith("function 'main': ")
    found = re.search(place["regexp"], second)
    assert found
    assert [found[place[one]] for one in ("file", "line", "column")] == [
        "wrong.relay",
        "2",
        "3",
    ]
