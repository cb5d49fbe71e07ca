"""Options are found on a command line that is not parsed yet, in each spelling."""

from __future__ import annotations

import pytest

from parpass.cli.options.written import JOBS, written_value


@pytest.mark.parametrize(
    "line",
    [
        *("-j0", "-j 0", "--jobs=0", "--jobs 0", "-jobs=0", "-jobs 0"),
        *("--disable-threading", "-mlir-disable-threading", "-j4 -p A -j0"),
    ],
)
def test_each_spelling_of_no_workers_is_found(line: str):
    assert written_value(["opt", "a.relay", *line.split()], JOBS) == "0"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        *(("", None), ("-p j0", None), ("-O0", None), ("-- -j0", None)),
        *(("-j 10", "10"), ("-j0 -j2", "2"), ("-j", ""), ("--jobs=", "")),
    ],
)
def test_another_number_is_that_one_and_none_is_none(line: str, value: str | None):
    assert written_value(["opt", *line.split()], JOBS) == value
