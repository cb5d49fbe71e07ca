"""Tables in a narrow terminal."""

from __future__ import annotations

import pytest

from parpass.cli.output.tables import name_column, print_table

ROWS = [("sequential", "100.0 ms", "100.0%"), ("  FoldConstant", "7.1 ms", "7.1%")]


@pytest.mark.parametrize("columns", ["10", "30", "200"])
def test_numbers_are_whole_and_lines_equally_long(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", columns)
    print_table("Time", [name_column("pass"), "total", "share"], ROWS)
    lines = capsys.readouterr().err.splitlines()[1:]
    for number in ("100.0 ms", "7.1 ms", "100.0%", "7.1%", "total"):
        assert any(f" {number} " in line for line in lines)
    assert len({len(line) for line in lines}) == 1
    assert ("…" in "".join(lines)) == (int(columns) < 40)
