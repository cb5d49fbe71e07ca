"""Pools that all tests share, because starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from parpass.runtime import Runner, open_runner

RunnerOf = Callable[[int], Runner]


@pytest.fixture(scope="session")
def runner_of() -> Iterator[RunnerOf]:
    """Give a function from a number of workers to a runner that has so many."""
    runners: dict[int, Runner] = {}

    def runner_of(workers: int) -> Runner:
        if workers not in runners:
            runners[workers] = open_runner(workers=workers)
        return runners[workers]

    yield runner_of
    for runner in runners.values():
        runner.close()


@pytest.fixture(scope="session")
def runner(runner_of: RunnerOf) -> Runner:
    """Give a runner with two workers."""
    return runner_of(2)
