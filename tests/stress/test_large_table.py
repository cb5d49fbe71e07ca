"""A table of 10 GB that is pruned to 1 GB while other processes run on it."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from parpass.errors import SlowerRunWarning
from parpass.object_store import ObjectStore
from tests.relay.test_function_cache import process

pytestmark = pytest.mark.stress

Report = Callable[[str, str], None]

SHARE = float(os.environ.get("PARPASS_STRESS", "1"))
BYTES, KEPT = round(10e9 * SHARE), round(1e9 * SHARE)
OBJECT_BYTES = 20_000


@pytest.mark.timeout(3600)
def test_a_large_table_is_pruned_while_it_is_used(tmp_path: Path, report: Report):
    store, ballast = ObjectStore(tmp_path), os.urandom(OBJECT_BYTES - 8)
    for first in range(0, BYTES // OBJECT_BYTES, 1_000):
        numbers = range(first, first + 1_000)
        store.put({f"ballast {at}": at.to_bytes(8) + ballast for at in numbers})
    assert store.state().size.nbytes >= 0.99 * BYTES
    users = [process(tmp_path, 100_000) for _ in range(2)]
    firsts = [one.stdout.readline().split()[1] for one in users if one.stdout]
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowerRunWarning)
        assert store.drop_old(KEPT)
    spent = time.monotonic() - began
    assert [one.poll() for one in users] == [None, None]
    for one in users:
        one.terminate()
    lines = [line for one in users for line in one.communicate()[0].split("\n")]
    found = [line.split() for line in lines if line.count(" ") == 1]
    assert {*firsts} == {text for _, text in found if len(text) == len(firsts[0])}
    recalled = sum(count == "33" for count, _ in found)
    state, size = ObjectStore(tmp_path).state(verify=True), tmp_path / "objects.sqlite"
    assert state.size.nbytes <= 1.01 * KEPT  # others have put in some since
    assert (state.damaged, state.problem) == (0, "")
    assert size.stat().st_size < 1.2 * KEPT + 1e6
    report(
        f"a table of {BYTES / 1e9:.1f} GB pruned to {KEPT / 1e9:.1f} GB while two "
        "processes run on it",
        f"{spent:.0f} s, {len(found):,} runs meanwhile, all equal, {recalled:,} with "
        "all results",
    )
