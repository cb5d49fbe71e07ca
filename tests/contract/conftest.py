"""Both drivers for the contract: each item that runs a pass runs it with each."""

from __future__ import annotations

import pytest

from parpass.runner import Runner
from parpass.runner.placement import PlacementPolicy
from tests.contract.marking import Run


@pytest.fixture(params=["serial", "parallel"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a pass on a module, under the current context.

    In parallel, all function passes run in the workers, however small the work, under
    whichever context: a test makes contexts of its own.
    """
    if request.param == "serial":
        return lambda a_pass, mod: a_pass(mod)
    runner: Runner = request.getfixturevalue("runner")
    monkeypatch.setattr(PlacementPolicy, "warm_overhead", _no_time)
    return lambda a_pass, mod: runner.run_sync(mod, a_pass)


def _no_time(*_about: object) -> float:
    return 0.0
