"""What changes between two runs gives a fresh result, or is a known breach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.relay.cache_changes import WAYS, Result

BREACHES = {what: way.breach for what, way in WAYS.items() if way.breach}
PAGE = Path(__file__).parents[2] / "docs" / "incremental.md"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Give what came of each way, of one process for all."""
    folder = tmp_path_factory.mktemp("changes")
    done = subprocess.run(
        [sys.executable, "-m", "tests.relay.cache_changes", str(folder)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "CHANGES": "1"},
    )
    return {what: Result(*found) for what, found in json.loads(done.stdout).items()}


def test_there_are_a_hundred_ways():
    assert len(WAYS) >= 100


@pytest.mark.parametrize("what", [what for what in WAYS if what not in BREACHES])
def test_what_is_the_same_is_recalled_and_what_changed_is_computed(
    results: dict[str, Result], what: str
):
    found = results[what]
    assert (found.recalled, found.told) == (1, [])
    assert found.is_fresh


@pytest.mark.parametrize("what", BREACHES)
def test_what_breaks_the_contract_is_found_by_verification_and_named_by_the_page(
    results: dict[str, Result], what: str
):
    (told,) = results[what].told
    assert "on function 'f' 'Mine' gave another function than the cache has" in told
    assert results[what].is_fresh
    assert f"* {BREACHES[what]}" in PAGE.read_text("utf-8")
