"""What is advised for given times, and that the page on speed knows all of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parpass.runner import RunReport
from tests.support.docs.steps import snippets

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"


def report(**given: Any) -> RunReport:
    """Return a report of 10 s in 4 workers, of which nothing went astray."""
    usual: dict[str, Any] = {
        "seconds": 10.0,
        "workers": 4,
        "module_passes": {},
        "instruments": {},
        "here": {},
        "in_workers": 10.0,
        "looking": 0.0,
        "rest": 0.0,
        "busy": 40.0,
        "starting": 0.0,
        "idle_at_end": 0.0,
        "waiting": 0.0,
        "encoding": 0.0,
        "decoding": 0.0,
        "passes": {"Add": 40.0},
        "largest_function": "main",
        "largest_function_seconds": 1.0,
        "longest_path": 1.0,
        "stages": 1,
        "jobs": 100,
        "functions": 1000,
        "bytes_sent": 1,
        "bytes_received": 1,
        "unsendable": {},
        "observers": (),
        "serial_seconds": 40.0,
    }
    return RunReport(**{**usual, **given})


TROUBLES: list[tuple[str, dict[str, Any]]] = [
    ("the workers took longer than this process", {"serial_seconds": 8.0}),
    ("the 4 workers had only 1.0 cores", {"queued": 30.0}),
    ("module pass 'Inline' takes 60% of the time", {"module_passes": {"Inline": 6.0}}),
    ("the hooks of instrument 'Log' take 30% of", {"instruments": {"Log": 3.0}}),
    (
        "an observing instrument ('Log') makes every pass a barrier",
        {"observers": ("Log",), "stages": 9, "looking": 4.0},
    ),
    (
        "function 'main' holds 40% of the work",
        {"largest_function_seconds": 16.0, "longest_path": 16.0},
    ),
    (
        "the module has a single function",
        {"here": {"a single function": 9.0}, "in_workers": 0.0},
    ),
    (
        "pass 'Lock' cannot be pickled, so it ran in this process: Lock.lock",
        {
            "unsendable": {"Lock": "Lock.lock"},
            "passes": {"Lock": 5.0, "Add": 1.0},
            "here": {"could not be sent to workers": 5.0},
            "in_workers": 0.0,
        },
    ),
    (
        "a function or the rest of its module cannot be pickled",
        {"here": {"could not be sent to workers": 9.0}, "in_workers": 0.0},
    ),
    (
        "the passes take 8.00 s, less than the transfer of the functions (32.00 s)",
        {"passes": {"Add": 8.0}},
    ),
    ("starting the workers took 1.00 s", {"starting": 4.0, "busy": 36.0}),
    (
        "function passes ran only in this process",
        {"here": {"without workers": 9.0}, "in_workers": 0.0, "workers": 0},
    ),
    (
        "there was no room for files shared",
        {"here": {"no room for shared files": 9.0}, "in_workers": 0.0},
    ),
]


@pytest.mark.parametrize(("text", "given"), TROUBLES)
def test_the_recommendation_that_saves_most_is_first(text: str, given: dict[str, Any]):
    assert report(**given).advice[0].startswith(text)
    assert f"Advice: {text}" in str(report(**given))


# What looks like one of these troubles, and is none of it.
NO_TROUBLES: list[tuple[str, str, dict[str, Any]]] = [
    ("took longer than this process", "faster than serial", {"serial_seconds": 12.0}),
    (
        "took longer than this process",
        "it was start-up",
        {"serial_seconds": 8.0, "loading": 2.0},
    ),
    (
        "took longer than this process",
        "it is the start that took so long",
        {"serial_seconds": 8.0, "starting": 12.0, "busy": 28.0},
    ),
    (
        "took longer than this process",
        "others keep the cores busy",
        {"serial_seconds": 8.0, "queued": 30.0},
    ),
    (
        "took longer than this process",
        "no worker had a part in it",
        {"serial_seconds": 8.0, "in_workers": 0.0, "here": {"too little work": 10.0}},
    ),
    ("workers had only", "a core is lacked now and then", {"queued": 4.0}),
    (
        "workers had only",
        "jobs were too short to tell",
        {"busy": 0.04, "queued": 0.04},
    ),
    ("module pass", "it is one of many", {"module_passes": {"Inline": 0.1}}),
    (
        "module pass",
        "one worker does it no sooner",
        {"module_passes": {"Inline": 6.0}, "workers": 1},
    ),
    (
        "module pass",
        "one function cannot be shared out",
        {
            "module_passes": {"Inline": 5.0},
            "here": {"a single function": 5.0},
            "in_workers": 0.0,
        },
    ),
    ("hooks of instrument", "they are quick", {"instruments": {"Log": 0.1}}),
    (
        "an observing instrument",
        "module passes are barriers anyway",
        {
            "observers": ("Log",),
            "module_passes": {"A": 0.1, "B": 0.1},
            "stages": 3,
            "looking": 4.0,
        },
    ),
    (
        "an observing instrument",
        "there is one pass",
        {"observers": ("Log",), "looking": 4.0},
    ),
    (
        "an observing instrument",
        "nothing was in a worker",
        {"observers": ("Log",), "stages": 9, "looking": 4.0, "in_workers": 0.0},
    ),
    ("an observing instrument", "nobody looks on", {"stages": 9, "looking": 4.0}),
    ("holds", "it takes its share", {"largest_function_seconds": 9.0}),
    (
        "holds",
        "in each stage another one is the longest",
        {"largest_function_seconds": 4.0, "longest_path": 16.0, "stages": 4},
    ),
    (
        "holds",
        "what ran was small",
        {
            "largest_function_seconds": 16.0,
            "longest_path": 16.0,
            "in_workers": 0.0,
            "here": {"too little work": 9.0},
        },
    ),
    (
        "a single function",
        "one worker does no more at once",
        {"here": {"a single function": 9.0}, "in_workers": 0.0, "workers": 1},
    ),
    ("a single function", "there are several", {}),
    (
        "so it ran in this process",
        "it took no time",
        {"unsendable": {"Lock": "Lock.lock"}, "passes": {"Lock": 0.1, "Add": 39.9}},
    ),
    (
        "so it ran in this process",
        "one worker would do it no sooner",
        {
            "unsendable": {"Lock": "Lock.lock"},
            "passes": {"Lock": 5.0},
            "workers": 1,
        },
    ),
    (
        "a function or the rest of its module",
        "it is the pass that cannot",
        {
            "unsendable": {"Lock": "Lock.lock"},
            "passes": {"Lock": 5.0},
            "here": {"could not be sent to workers": 5.0},
        },
    ),
    (
        "no room",
        "what did not fit took no time",
        {"here": {"no room for shared files": 0.1}},
    ),
    (
        "less than the transfer",
        "their transfer is short beside them",
        {"seconds": 2.7, "passes": {"Add": 9.78}, "busy": 10.336, "in_workers": 2.6},
    ),
    (
        "less than the transfer",
        "nothing was sent anywhere",
        {"passes": {"Add": 1.0}, "in_workers": 0.0, "waiting": 30.0},
    ),
    ("starting the workers", "they were there", {"starting": 0.0}),
    ("starting the workers", "it took little of the run", {"starting": 0.4}),
    (
        "ran only in this process",
        "it is too little to start workers for",
        {
            "seconds": 0.2,
            "here": {"without workers": 0.2},
            "in_workers": 0.0,
            "workers": 0,
        },
    ),
    (
        "ran only in this process",
        "a single function takes all of the time",
        {
            "here": {"without workers": 9.0},
            "in_workers": 0.0,
            "workers": 0,
            "longest_path": 9.0,
        },
    ),
    ("ran only in this process", "what ran here was small", {"here": {"small": 9.0}}),
]


@pytest.mark.parametrize(("text", "why", "given"), NO_TROUBLES)
def test_what_would_not_help_is_not_advised(text: str, why: str, given: dict[str, Any]):
    assert not [one for one in report(**given).advice if text in one], why


def test_each_advice_has_a_run_for_which_it_is_wrong():
    for text, given in TROUBLES:
        told = report(**given).advice[0]
        assert [1 for known, _, _ in NO_TROUBLES if known in told], text


def test_without_recommendations_the_run_is_compared_with_its_limit():
    assert report().advice == ("no single bottleneck; 100% of the ideal speed-up",)


def test_where_nothing_was_measured_no_speedup_is_reported():
    unknown = report(serial_seconds=None)
    assert unknown.advice == ("no single bottleneck",)
    assert unknown.speedup is None
    not_measured = "10.00 s. Speed-up over a serial run not measured"
    assert unknown.headline.startswith(not_measured)
    assert "Measured speed-up" not in str(unknown)
    measured = report(serial_seconds=8.0).headline
    assert measured.startswith("10.00 s. Measured speed-up 0.80x, ideal ")


def test_start_up_is_told_apart_from_the_run():
    parts = {"beforehand": 0.5, "loading": 0.25, "starting": 1.0}  # by 4 workers
    first = report(seconds=2.0, in_workers=1.25, serial_seconds=2.0, **parts)
    assert (first.start_up, first.speedup, first.warm_speedup) == (1.0, 1.0, 2.0)
    told = "2.00 s (start-up 1.00 s). Measured speed-up 2.00x (1.00x with start-up), "
    assert first.headline.startswith(told)
    assert first.lines()[0] == ("local start-up", 0.75, "imports, starting workers")
    assert "start-up" not in report(beforehand=0.4).headline


def test_the_limit_regards_the_serial_share_and_the_longest_function():
    one = report(module_passes={"Inline": 10.0}, passes={"Add": 30.0})
    assert one.serial_share == 0.25
    assert one.ceiling == one.limit == 40 / (10 + 30 / 4)
    assert report(longest_path=20.0).limit == 2
    assert report(longest_path=20.0).ceiling == 4


def test_recommendations_that_save_little_are_left_out():
    assert report(module_passes={"Inline": 0.1}).advice[0].startswith("no single")


def test_the_page_on_speed_has_all_advice_and_no_other():
    two_columns = r"^\| ([^|]+?) \| [^|]+ \|$"
    rows = re.findall(two_columns, PAGE.read_text(), re.MULTILINE)[1:]
    patterns = [".*".join(map(re.escape, row.split(" ..."))) for row in rows]
    advice = [report(**given).advice[0] for _, given in TROUBLES]
    for pattern in patterns:
        assert any(re.match(pattern, text) for text in advice), pattern
    for text in advice:
        assert any(re.match(pattern, text) for pattern in patterns), text


@pytest.mark.slow
def test_the_programs_of_the_page_run(tmp_path: Path):
    programs = "\n".join(one.text for one in snippets(PAGE))
    (tmp_path / "page.py").write_text(programs, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "page.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=200,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search("serial run not measured|without workers", result.stdout)
    assert "Advice: " in result.stdout
