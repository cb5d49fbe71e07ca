"""Rows `codemods` and `codemods_again`: LibCST's codemods on the standard library.

The files are copied from the interpreter's own sources. What LibCST's command and what
`parpass codemod` write is compared byte by byte before anything is measured.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row

_CODEMOD = "convert_format_to_fstring.ConvertFormatStringCommand"
_BYTES = 1_500_000
_SERIAL = [
    *[sys.executable, "-m", "libcst.tool", "codemod", _CODEMOD],
    *["--no-format", "--hide-progress"],
]
_PARALLEL = [sys.executable, "-m", "parpass", "codemod", "-q", _CODEMOD]


class _Work:
    """A folder of sources, which each command is run on as they were.

    Args:
        folder: Where they are put.
        size: How many bytes of them, about.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self._library = Path(sysconfig.get_path("stdlib"))
        files = sorted(
            path
            for path in self._library.rglob("*.py")
            if {"site-packages", "test", "tests", "lib2to3"}.isdisjoint(path.parts)
        )
        sizes = itertools.accumulate(path.stat().st_size for path in files)
        self.files = [
            path for path, up_to in zip(files, sizes, strict=True) if up_to < size
        ]

    def fresh(self) -> None:
        """Put the sources into the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in self.files:
            copy = self.folder / path.relative_to(self._library)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)

    def made_by(self, command: list[str]) -> dict[Path, bytes]:
        """Return what a command makes of the files."""
        self.fresh()
        self._run(command)
        return {path: path.read_bytes() for path in self.folder.rglob("*.py")}

    def seconds_of(self, command: list[str]) -> Callable[[], float]:
        """Return what runs a command on the sources, and returns its seconds."""
        seconds = clocked(lambda: self._run(command))

        def run() -> float:
            self.fresh()
            return seconds()

        return run

    def _run(self, command: list[str]) -> None:
        subprocess.run(
            [*command, "."], cwd=self.folder, capture_output=True, check=True
        )


def _codemods(setting: Setting) -> Iterator[Line]:
    jobs = str(setting.workers)
    with tempfile.TemporaryDirectory() as folder:
        work = _Work(Path(folder) / "sources", setting.scaled(_BYTES, 100_000))
        sides = {
            "one process": [*_SERIAL, "-j", "1"],
            "libcst": [*_SERIAL, "-j", jobs],
            "parpass": [*_PARALLEL, "-j", jobs],
        }
        made = {name: work.made_by(command) for name, command in sides.items()}
        if made["parpass"] != made["one process"]:
            raise AssertionError("the two commands made different files")
        runs = {name: work.seconds_of(command) for name, command in sides.items()}
        times = interleaved(runs, setting.fewer)
    what = f"a codemod of LibCST's on {len(work.files)} files of the standard library"
    yield Line(
        what,
        "libcst.tool codemod -j 1 : parpass codemod",
        ratio(times, "one process", "parpass"),
        Goal(at_least=1.5),
        times=times,
    )
    yield Line(
        what,
        f"parpass codemod : libcst.tool codemod -j {jobs}",
        ratio(times, "parpass", "libcst"),
        Goal(at_most=0.8),
    )


def _again(setting: Setting) -> Iterator[Line]:
    jobs = f"-j{setting.workers}"
    with tempfile.TemporaryDirectory() as folder:
        work = _Work(Path(folder) / "sources", setting.scaled(_BYTES, 100_000))
        cached = [*_PARALLEL, jobs, f"--cache={folder}/kept"]
        work.made_by(cached)
        sides = {"again": cached, "without": [*_PARALLEL, jobs]}
        runs = {name: work.seconds_of(command) for name, command in sides.items()}
        times = interleaved(runs, setting.fewer)
    yield Line(
        f"the same, run again on {len(work.files)} files with a cache on disk",
        "with the cache : without",
        ratio(times, "again", "without"),
        times=times,
    )


ROWS = (Row("codemods", _codemods), Row("codemods_again", _again))
