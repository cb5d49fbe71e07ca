"""The tutorial on one's own compiler, step by step, as a reader follows it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from docs.site.blocks import Block
from tests.support.cli.distributions import install
from tests.support.docs.steps import Edit, steps

ROOT = Path(__file__).parents[2]
PAGES = "your-own-compiler", "growing-your-compiler"  # the second begins with the first


class Reader:
    """Someone who copies what the page shows, in a folder of an environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = [str(ROOT)]

    def write(self, step: Block | Edit) -> None:
        """Write a file, or change a line of one."""
        if isinstance(step, Edit):
            step.apply(self.folder)
        else:
            (self.folder / step.file).write_text(step.text, encoding="utf-8")

    def type(self, command: str) -> str:
        """Type a command; return what the terminal shows."""
        name, *args = shlex.split(command)
        match name:
            case "cd":
                self.folder /= args[0]
                return ""
            case "." | "python" if ".venv" in "".join(args):
                return ""  # this environment is as good
            case "pip" if "parpass" in args:
                return ""  # it is there
            case "pip":  # which makes the same known as this does
                project = tomllib.loads((self.folder / "pyproject.toml").read_text())
                points = project["project"]["entry-points"]
                install(self.folder, "my", modules={}, entry_points=points)
                self.path.append(str(self.folder))
                return ""
            case "cat":
                return (self.folder / args[0]).read_text(encoding="utf-8")
            case "python":
                words = args
            case _:
                words = ["-m", name.replace("-", "_"), *args]
        ran = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(self.path),
                "PYTEST_ADDOPTS": "",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ran.stdout


def _pattern(text: str) -> re.Pattern[str]:
    """Return what matches an output: `...` is any text, and beside it numbers vary."""
    if "..." not in text:
        return re.compile(re.escape(text))
    parts = re.split(r"(\.\.\.|\d+)", text)
    found = (
        ".*" if one == "..." else r"\d+" if one.isdigit() else None for one in parts
    )
    pattern = (
        re.escape(part) if one is None else one
        for part, one in zip(parts, found, strict=True)
    )
    return re.compile("".join(pattern), re.DOTALL)


@pytest.mark.slow
def test_each_step_shows_what_the_page_shows(tmp_path: Path):
    reader = Reader(tmp_path)
    texts = ((ROOT / "docs" / f"{page}.md").read_text("utf-8") for page in PAGES)
    for step in steps("\n".join(texts)):
        if isinstance(step, Edit) or step.file:
            reader.write(step)
            continue
        if step.kind != "console":  # what it was on another machine
            continue
        shown = "".join(
            f"{line}\n{reader.type(line[2:])}"
            for line in step.text.splitlines()
            if line.startswith("$ ")
        )
        assert _pattern(step.text).fullmatch(shown), shown
    shown = reader.type("python -m pytest -q -p no:randomly -p no:xdist")
    assert " passed" in shown
    assert "failed" not in shown
