"""Pages of which a reader types all that they show, from top to bottom.

`python -m tests.support.docs.typed_pages PAGE ...` writes into pages what they print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from docs.site.notebooks import Cell, cells, page_of

_BETWEEN = "\x1e"  # between what cells print
_CLOCK = re.compile(r"\d+\.\d+ (s|ms|x)\b")
_PROGRESS = re.compile(r"^Progress: .*\n", re.MULTILINE)  # where one had to wait


def typed(page: str, folder: Path) -> str:
    """Return the text of a page with what its parts print when they are typed.

    Args:
        page: The text.
        folder: An empty one, where its files are written and its Python is run, as one
            program.
    """
    parts = list(cells(page))
    lines = ["import subprocess as _subprocess"]
    for part in parts:
        match part.kind:
            case "file":
                (folder / part.file).write_text(part.text, encoding="utf-8")
            case "python":
                lines += [part.text, f"print({_BETWEEN!r}, end='')"]
            case "console":
                lines.append(f"_subprocess.run({part.text!r}, shell=True)")
                lines.append(f"print({_BETWEEN!r}, end='')")
            case _:
                pass
    (folder / "page.py").write_text("\n".join(lines), encoding="utf-8")
    printed = shown_by("python -u page.py", folder).split(_BETWEEN)
    return page_of(list(_with_outputs(parts, printed)))


def shown_by(command: str, folder: Path) -> str:
    """Return what a terminal shows of a command, but its progress.

    Args:
        command: A line for the shell, which finds this environment's commands first.
        folder: Where it is typed.
    """
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": search},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=200,
    )
    return _PROGRESS.sub("", ran.stdout)


def _with_outputs(parts: list[Cell], printed: list[str]) -> Iterable[Cell]:
    left = iter(printed)
    for part in parts:
        is_run = part.kind in ("python", "console")
        yield part._replace(shown=next(left, "")) if is_run else part
    if rest := "".join(left):  # it ended early
        yield Cell("markdown", rest)


def without_clocks(text: str) -> str:
    """Return a text without times, which differ from run to run."""
    return _CLOCK.sub(r"# \1", text)


if __name__ == "__main__":
    for one in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as empty:
            shown = typed(one.read_text(encoding="utf-8"), Path(empty))
        one.write_text(shown, encoding="utf-8")
