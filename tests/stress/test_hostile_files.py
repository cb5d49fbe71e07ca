"""Readers' time limits: no odd file takes long, or much memory, for its size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.stress.hostile import MEMORY, READERS, SECONDS, SECONDS_A_BYTE

pytestmark = pytest.mark.stress

Report = Callable[[str, str], None]

SHARE = float(os.environ.get("PARPASS_STRESS", "1"))
COUNT = max(1, round(2_000 * SHARE))


@pytest.mark.parametrize("reader", sorted(READERS))
def test_hostile_files_are_read_or_refused_in_time(reader: str, report: Report):
    command = [sys.executable, "-m", "tests.stress.hostile", reader, "7", str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["failures"] == []
    limit = f"{SECONDS:.0f} s and {SECONDS_A_BYTE * 1e6:.0f} us a byte"
    report(
        f"hostile files as {reader}: generated ones, and {COUNT:,} damaged ones; "
        f"{limit} of processor time and {MEMORY >> 30} GB are allowed",
        f"the worst {found['worst']:.2f} s; {found['megabytes']} MB",
    )
