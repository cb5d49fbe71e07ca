"""What the stress tests measure, written to the terminal as one table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_FIGURES: list[tuple[str, str]] = []

Report = Callable[[str, str], None]


@pytest.fixture
def report() -> Report:
    """Give a function that takes down what was done, and what was measured."""
    return lambda what, figure: _FIGURES.append((what, figure))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the table."""
    if _FIGURES:
        terminalreporter.section("measured")
        terminalreporter.line("| test | measured |")
        terminalreporter.line("|---|---|")
        for what, figure in _FIGURES:
            terminalreporter.line(f"| {what} | {figure} |")
