"""The benchmark's command, on as little work as there can be; no time is asserted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from bench.measure import Figure, interleaved, ratio
from bench.rows import ROWS
from bench.table import Goal, Line

ROOT = Path(__file__).parents[2]


def run_bench(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


ARE_MISSING = {
    *("not installed", "this version of TVM has no such visitors"),
    "Chromium is not installed",
    "Playwright is not installed: pip install 'parpass[browser]'",
}

# Rows of each kind: one in this process, one of fresh processes and of their workers.
FEW = ["infrastructure", "cold"]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(FEW, id="few", marks=pytest.mark.slow),
        pytest.param([*ROWS], id="all", marks=pytest.mark.stress),
    ],
)
def test_the_command_shows_its_rows_and_writes_what_it_measured(
    rows: list[str], tmp_path: Path
):
    file = tmp_path / "figures.json"
    smallest = ("--scale", "0.001", "--repeat", "1", "--workers", "1")
    done = run_bench(*smallest, "--rows", ",".join(rows), "--json", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(file.read_text())["rows"]
    assert list(found) == rows
    for name, lines in found.items():
        assert f"│ {name} " in done.stdout
        assert lines
        assert {line["verdict"] for line in lines} <= {"met", "missed", ""}
        without = [line for line in lines if not line["curves"]]
        missing = [line["note"] for line in without if line["figure"] is None]
        assert set(missing) <= ARE_MISSING


def test_an_unknown_row_is_refused_and_the_known_ones_are_named():
    done = run_bench("--rows", "heavy,hevy")
    assert done.returncode == 2
    assert "heavy, light" in done.stderr
    assert "got hevy" in done.stderr


def test_pages_are_not_made_of_rows_that_were_measured_in_different_ways():
    done = run_bench("--rows", "heavy", "--report", "--workers", "1", "--repeat", "7")
    assert done.returncode == 2
    assert "got 1 workers" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("goal", "value", "verdict"),
    [
        (Goal(at_most=1.04), 1.04, "met"),
        (Goal(at_most=1.04), 1.05, "missed"),
        (Goal(at_least=1.8), 1.9, "met"),
        (Goal(at_least=1.8), 1.7, "missed"),
        (None, 1.0, ""),
    ],
)
def test_a_figure_beyond_its_goal_is_a_miss_whatever_the_noise(
    goal: Goal | None, value: float, verdict: str
):
    assert Line("work", "this : that", Figure(value, 0.5), goal).verdict == verdict


def test_a_share_of_a_goal_is_above_one_where_it_is_missed():
    assert Goal(at_most=2.0).share(3.0) == 1.5
    assert Goal(at_least=3.0).share(2.0) == 1.5
    assert Goal(at_least=3.0).share(0.0) == math.inf


def test_sides_take_turns_and_each_begins_a_round():
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return len(order)

    sides = {name: lambda name=name: side(name) for name in "ab"}
    times = interleaved(sides, 2)
    assert order == ["a", "b", "b", "a"]
    assert times == {"a": [1, 4], "b": [2, 3]}


def test_a_ratio_is_of_medians_and_its_noise_that_of_the_rounds():
    times = {"ours": [2.0, 4.0, 6.0], "theirs": [1.0, 2.0, 4.0]}
    assert ratio(times, "ours", "theirs") == Figure(2.0, 0.125)
