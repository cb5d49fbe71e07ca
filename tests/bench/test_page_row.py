"""Row `page` where there is no Chromium: what can be measured, and why not the rest."""

from __future__ import annotations

import pytest

from bench.measure import Setting
from bench.rows.page import ROWS


@pytest.mark.slow
def test_without_chromium_the_size_is_measured_and_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("PATH", "")
    size, *others = ROWS[0].measure(Setting(workers=1, repeat=1, scale=0.001))
    assert size.figure is not None
    assert size.verdict == "met"
    assert [line.figure for line in others] == [None, None]
    for line in others:
        assert line.note.startswith(("Chromium is not", "Playwright is not"))
