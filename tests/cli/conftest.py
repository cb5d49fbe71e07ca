"""The command in this process says how far it is where a test is about that alone."""

from __future__ import annotations

import pytest

from parpass.cli.output import progress_display


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no line of progress among what is expected, on a machine that is busy."""
    monkeypatch.setattr(progress_display, "_FIRST_SECONDS", 3600.0)
    monkeypatch.setattr(progress_display, "_LINE_SECONDS", 3600.0)
