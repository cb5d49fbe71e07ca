"""Pools that all tests share, as starting one takes long; and the limits of time."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from parpass.ir import loop_options
from parpass.runner import Runner, open_runner

RunnerOf = Callable[[int], Runner]

# Some of the hundred examples that Hypothesis takes: they are others in each run. How
# long one takes says more of the machine than of the code.
settings.register_profile("parpass", max_examples=20, deadline=None)
settings.load_profile("parpass")

# What a shell runs in the background ignores Ctrl-C, as does all that it starts. Tests
# send it to programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_LONG = 3600  # seconds, for a test in its long form


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give long forms a longer limit of time than `pyproject.toml` gives the others."""
    for item in items:
        if item.get_closest_marker("stress"):
            item.add_marker(pytest.mark.timeout(_LONG), append=False)


def pytest_collection_finish() -> None:
    """Keep the collector from going through all tests, and all they import, in each."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have objects be kept in a folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARPASS_CACHE_DIR", str(tmp_path_factory.mktemp("objects")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_kernel_leaves_its_buffers() -> Iterator[None]:
    """Have machine code check each access, whatever a test compiles, and however.

    A test that looks at the code itself sets `tir.instrument_bound_checkers` to False.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_options, "CHECKS_BOUNDS", True)
        yield
