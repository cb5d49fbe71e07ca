"""The pages on speed and the README are what the kept figures give."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import report as reporting
from bench.measure import Figure, Setting
from bench.report import FIGURES, PAGE, PageError, digest, pages, reasons, unexplained
from bench.rows import ROWS
from bench.table import Goal, Line, Machine, Report

# By the page that shows it.
PLOTS = {
    "performance-goals.svg": PAGE,
    "performance-scale.svg": PAGE,
    "performance-recalled.svg": PAGE.with_name("incremental.md"),
    "performance-alternatives.svg": reporting.WHEN,
    "performance-front.svg": reporting.INDEX,
}
MET = Line(
    "work", "this : that", Figure(1.0, 0.1), Goal(1.04), times={"a": [0.1234567]}
)
MISSED = Line("more work", "this : that", Figure(1.5), Goal(1.04))
WORSE = Line("much work", "that : this", Figure(0.5), Goal(at_least=1.0))
CURVES = Line(
    "functions", "efficiency", None, curves={"workers": [1.0, 2.0], "1 ms": [1.0, 0.5]}
)


def made(**rows: list[Line]) -> Report:
    return Report(Setting(2, 3, 1.0), Machine("CPython 3", "Linux", 2), rows)


def kept() -> Report:
    return Report.from_json(FIGURES.read_text(encoding="utf-8"))


def test_page_and_readme_are_what_the_kept_figures_give():
    for path, text in pages(kept()).items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is not that of {FIGURES.name}: python -m bench.report"
        )


@pytest.mark.parametrize("name", PLOTS)
def test_the_plots_are_of_the_kept_figures(name: str):
    text = (PAGE.parent / name).read_text(encoding="utf-8")
    assert digest(kept()) in text
    assert f"({name})" in PLOTS[name].read_text(encoding="utf-8")


def test_each_missed_goal_of_the_page_has_a_reason():
    assert unexplained(kept()) == []


def test_reasons_are_of_rows_that_there_are():
    assert set(reasons()) <= set(ROWS)


def test_figures_are_the_same_after_they_were_kept():
    report = made(heavy=[MET, MISSED], scale=[CURVES])
    again = Report.from_json(report.as_json())
    assert again.as_json() == report.as_json()
    assert list(again.rows["heavy"])[1] == MISSED


def test_a_missed_goal_without_a_reason_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reporting, "reasons", lambda: {"heavy": "others computed."})
    report = made(heavy=[MISSED], light=[WORSE], one=[MET])
    assert reporting.missed_rows(report) == ["heavy", "light"]
    assert unexplained(report) == ["light"]


def test_the_readme_has_of_each_of_its_rows_the_line_that_does_worst():
    mine, others = (
        replace(line, compares=compares)
        for line, compares in ((MISSED, "parallel run : that"), (WORSE, "that"))
    )
    report = made(heavy=[MET, mine, others], skew=[MISSED])
    text = pages(report)[reporting.README]
    block = re.search("<!-- bench: goals -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert block is not None
    rows = [line for line in block[1].splitlines() if line.startswith("| ")][1:]
    [begins, work, result] = reporting.README_ROWS["heavy"]
    assert mine.compares.startswith(begins)
    command = "`python -m bench --rows heavy`"
    assert rows == [f"| {work} | {result.format(1.5)} | {command} |"]


def test_the_page_on_alternatives_has_what_workers_need_to_pay():
    found = [
        Line("small", f"{count} workers pay from functions of", Figure(each, 0, "ms"))
        for count, each in ((2, 0.041), (16, 4.0))
    ]
    text = pages(made(scale=found))[reporting.WHEN]
    assert "| workers | 2 | 16 |\n|---|--:|--:|\n| small | 0.041 ms | 4 ms |\n" in text


def test_the_rows_of_the_readme_are_those_of_the_command_and_have_lines():
    text = pages(kept())[reporting.README]
    assert all(f"--rows {name}` |" in text for name in reporting.README_ROWS)
    assert set(reporting.README_ROWS) <= set(ROWS)
    assert len(reporting.README_ROWS) == 5


def test_the_front_pages_say_what_the_longest_serial_run_of_a_row_became():
    times = {"serial": [8.02], "parallel": [4.2, 4.1, 9.0], "limit": [4.0]}
    long = replace(MET, what="long work", times=times)
    short = replace(long, what="short work", times={**times, "serial": [2.0]})
    for page in (reporting.README, reporting.INDEX):
        text = " ".join(pages(made(heavy=[short, long, WORSE]))[page].split())
        assert "**8.0 s became 4.2 s on two cores**: long work," in text
        assert "The limit is 4.0 s, of" in text


def test_prose_stays_and_a_page_without_its_marks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tmp_path / "page.md"
    blocks = "<!-- bench: goals -->\nold\n<!-- end -->\n"
    blocks += "<!-- bench: front -->\nold\n<!-- end -->\n"
    page.write_text(f"before\n{blocks}after\n")
    monkeypatch.setattr(reporting, "README", page)
    text = pages(made(heavy=[MET]))[page]
    assert text.startswith("before\n<!-- bench: goals -->\n")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text
    page.write_text("nothing")
    with pytest.raises(PageError, match="bench: goals"):
        pages(made())


@pytest.mark.stress  # matplotlib is for who measures: it is not among the tests' needs
def test_plots_are_well_formed_and_the_same_for_the_same_figures(tmp_path: Path):
    from bench.plots import draw

    growth = replace(MET, curves={"functions": [1e2, 1e5], "again": [0.01, 2.0]})
    report = made(
        heavy=[MET, MISSED],
        one=[WORSE],
        scale=[CURVES, CURVES],
        incremental=[growth],
    )
    texts: list[list[str]] = []
    for _ in range(2):
        draw(report, tmp_path, "abc")
        texts.append([(tmp_path / name).read_text() for name in PLOTS])
    assert texts[0] == texts[1]
    for text in texts[0]:
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "figures abc" in text
    assert "heavy" in texts[0][0]
    assert "20 us for each function" in texts[0][2]
