"""`parpass compare`: what became slower."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.report.profile import Profile, RunProfile
from parpass.transform.capture.pass_memory import PassMemory

IN_NOISE = "within the noise"
FAST, SLOW = [2.0, 2.01, 2.02, 2.01, 2.0], [4.0, 4.01, 4.02, 4.01, 4.0]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two profiles of five runs; the second is slower in pass B."""
    return (
        write(tmp_path / "a.json", [RunProfile(one, *seconds(one)) for one in FAST]),
        write(tmp_path / "b.json", [RunProfile(one, *seconds(one)) for one in SLOW]),
    )


def seconds(run: float) -> tuple[dict[str, float], dict[str, float]]:
    return {"A": 0.5 + run % 1 + run / 1e3, "B": run - 0.5}, {"main": run}


def write(path: Path, runs: list[RunProfile]) -> Path:
    made = Profile(parpass="1.0", pipeline="A,B", jobs=None, runs=runs)
    path.write_bytes(made.encoded())
    return path


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_tables_show_what_became_slower_first(files: tuple[Path, Path]):
    result = compare(*files)
    assert (result.exit_code, result.stderr) == (0, "")
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in result.stdout.splitlines()
        if line.startswith("│")
    ]
    assert [row[0] for row in rows] == ["run", "B", "A", "main"]
    assert rows[1][1:4] == ["1.51 s", "3.51 s", "+2.00 s"]
    assert [row[-1] for row in rows] == ["slower", "slower", IN_NOISE, "slower"]
    assert "The statistics of passes are the same." in result.stdout
    assert "The noise is unknown" not in result.stdout


def test_json_has_everything(files: tuple[Path, Path]):
    result = compare(*files, "--json", "--limit=1")
    found = json.loads(result.stdout)
    assert [one["name"] for one in found["passes"]] == ["B", "A"]
    assert found["run"]["verdict"] == "slower"
    assert found["run"]["percent"] == pytest.approx(99.5, abs=0.1)
    assert (found["runs_before"], found["runs_after"]) == (5, 5)


def test_a_page_has_both_runs(files: tuple[Path, Path], tmp_path: Path):
    page = tmp_path / "page.html"
    result = compare(*files, "--report", page, "--limit=1")
    assert (result.exit_code, result.stderr) == (0, "")
    html = page.read_text()
    assert "2.01 s, then 4.01 s: slower (+2.00 s, +99.5%; medians of 5 and 5" in html
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in html.split("<tr>")]
    shown = [[row[0], row[1], row[2], row[-1]] for row in rows if row]
    assert shown == [
        ["B", "1.51 s", "3.51 s", "slower"],
        ["A", shown[1][1], shown[1][2], IN_NOISE],
        ["main", "2.01 s", "4.01 s", "slower"],
    ]
    assert 'class="bar after" style="width:100.0%"' in html


def test_names_are_text_in_a_page(tmp_path: Path):
    runs = [RunProfile(1.0, {"<b>": 1.0}, {"&": 1.0})]
    page = tmp_path / "page.html"
    before, after = (write(tmp_path / name, runs) for name in ("<a>", "b"))
    assert compare(before, after, "--report", page).exit_code == 0
    html = page.read_text()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "<a>" not in html


def test_a_page_in_no_folder_is_refused(files: tuple[Path, Path], tmp_path: Path):
    result = compare(*files, "--report", tmp_path / "nowhere" / "page.html")
    assert result.exit_code == 2
    assert result.stdout == ""


def test_rows_beyond_the_limit_are_counted(files: tuple[Path, Path]):
    result = compare(*files, "--limit=1")
    assert "And 2 more smaller changes; --limit shows them" in result.stdout


def test_too_slow_is_an_exit_code_that_names_the_pass(files: tuple[Path, Path]):
    result = compare(*files, "--fail-above=10")
    assert result.exit_code == 1
    assert "Error: the run became slower by 2.00 s (+99.5%)" in result.stderr
    assert "pass 'B'" in result.stderr
    assert "pass 'A'" not in result.stderr
    assert compare(*files, "--fail-above=500").exit_code == 0
    assert compare(*reversed(files), "--fail-above=0").exit_code == 0


def test_one_run_says_that_the_noise_is_not_known(files: tuple[Path, Path]):
    single = write(files[0].with_name("c.json"), [RunProfile(1.0, *seconds(1.0))])
    result = compare(files[0], single)
    assert "The noise is unknown: it takes 3 runs" in result.stdout


def test_one_side_may_be_standard_input(files: tuple[Path, Path]):
    with_input = CliRunner().invoke(
        main, ["compare", "-", str(files[1])], input=files[0].read_bytes()
    )
    assert with_input.stdout == compare(*files).stdout
    assert compare("-", "-").exit_code == 2


def test_other_files_are_refused(files: tuple[Path, Path], tmp_path: Path):
    (tmp_path / "net.relay").write_text("def @main() { 1f }")
    result = compare(files[0], tmp_path / "net.relay")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not a profile" in result.stderr
    newer = tmp_path / "newer.json"
    newer.write_bytes(files[0].read_bytes().replace(b'"version": 2', b'"version": 7'))
    assert "got version 7" in compare(newer, files[1]).stderr
    assert compare(files[0], tmp_path / "nowhere.json").exit_code == 2
    failed = write(tmp_path / "failed.json", [RunProfile(failure="ValueError: no")])
    result = compare(files[0], failed)
    assert (result.exit_code, "no run of" in result.stderr) == (2, True)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_an_error_without_a_traceback(
    files: tuple[Path, Path], options: list[str]
):
    command = [sys.executable, "-m", "parpass", "compare", *map(str, files), *options]
    # As usual, output is written when there is much of it, or none to come.
    env = {**os.environ, "PYTHONUNBUFFERED": ""}
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=env
        )
    told = "Error: cannot write: No space left on device\n"
    assert (result.returncode, result.stderr) == (2, told)


def test_counters_that_differ_are_shown(files: tuple[Path, Path]):
    counted = {"A": {"folded": 1200}}
    runs = [
        RunProfile(1.0, {"A": 1.0}, {"f": 1.0}, counted, {"A": {"f": counted["A"]}})
    ]
    other = msgspec.structs.replace(runs[0], statistics={}, function_statistics={})
    names = [files[0].with_name(name) for name in ("x.json", "y.json")]
    result = compare(write(names[0], runs), write(names[1], [other]))
    assert result.stdout.count("-1,200") == 2
    assert "(all)" in result.stdout


def test_memory_is_a_table_of_its_own_and_in_json(files: tuple[Path, Path]):
    memories = [PassMemory({"A": 1_200_000}), PassMemory({"A": 3_000})]
    names = [files[0].with_name(name) for name in ("x.json", "y.json")]
    for name, memory in zip(names, memories, strict=True):
        write(name, [RunProfile(1.0, {"A": 1.0}, memory=memory)])
    shown = compare(*names).stdout.partition("Memory by pass")[2]
    (row,) = [line for line in shown.splitlines() if line.startswith("│")]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["A", "1.2 MB", "3.0 kB", "-1.2 MB", "", "-99.8%", "less"]
    (found,) = json.loads(compare(*names, "--json").stdout)["memory"]
    assert (found["bytes"], found["verdict"]) == (-1_197_000, "less")
