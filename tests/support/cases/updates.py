"""`--update`: expectations of case files, written anew.

Each test of a case that expects something else says so in its report, and whoever reads
the reports writes the files, once, behind the last test: so it does with `-n 4`, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.cases.files import CaseFileError, with_expectations

UPDATE = "--update"
CASES = "--cases"
FOLDER = Path(__file__).parents[2] / "cases"
_PROPERTY = "case file"


def declare_options(parser: pytest.Parser) -> None:
    """Declare the options of case files."""
    group = parser.getgroup("case files")
    group.addoption(
        UPDATE,
        action="store_true",
        help="write what cases expect anew, where it differs, and say which do",
    )
    group.addoption(
        CASES, type=Path, default=FOLDER, metavar="DIR", help="the folder of case files"
    )


def configure(config: pytest.Config) -> None:
    """Get ready to write files, if that is asked for.

    Raises:
        pytest.UsageError: This is CI, where nobody would read the difference.
    """
    if not config.getoption(UPDATE):
        return
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise pytest.UsageError(f"{UPDATE} writes files, which CI does not keep")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(), "case files")


def ask_for_update(
    request: pytest.FixtureRequest, path: Path, name: str, texts: Mapping[str, str]
) -> None:
    """Have a file written in which a case expects other texts."""
    item = cast("pytest.Item", request.node)
    item.user_properties.append((_PROPERTY, [str(path), name, dict(texts)]))


class _Writer:
    """Takes down what is to be written, and writes it at the end."""

    def __init__(self) -> None:
        self.changes: dict[Path, dict[str, Mapping[str, str]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" or not report.passed:
            return
        for key, value in report.user_properties:
            if key == _PROPERTY:
                path, name, texts = cast("tuple[str, str, dict[str, str]]", value)
                self.changes.setdefault(Path(path), {})[name] = texts

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section(UPDATE)
        for path, changes in sorted(self.changes.items()):
            try:
                text = with_expectations(path, changes)
            except CaseFileError as error:
                write(str(error))
                continue
            path.write_bytes(text.encode())
            for name in changes:
                write(f"{path}: wrote what '{name}' gives")
        if not self.changes:
            write("every case gives what it expects; no file is written")
