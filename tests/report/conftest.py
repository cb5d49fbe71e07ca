"""A runner whose reports tell of all of a run.

What a function cache recalls, as that of `--cached`, is neither sent nor timed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.runner import Runner, open_runner


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """Give a runner with two workers and no cache."""
    with open_runner(workers=2) as runner:
        yield runner
