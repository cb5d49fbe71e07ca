"""Pools that all tests share, as starting one takes long; and which tests are run.

* `-m hunt` runs the property tests alone, on examples that differ from run to run, and
  begins no more of them when `--minutes` are over.
* `--share K/N` runs those of N parts of the tests that are in part K (from 0): which
  ones depends on their names alone.
* `--cached VERIFY` gives the shared runners one function cache, of which so large a
  share is verified: with 1 each result of an earlier run is computed again, and
  compared, with 0 all are used.
* `--update` has what cases of case files expect written anew
  (`tests/cases/test_cases.py`).
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import object_store
from parpass.replicated_tables import program_entries
from parpass.runner import FunctionCache, Runner, open_runner
from tests.support.cases import updates as case_updates
from tests.support.profiles import HUNT, profile_of, register_profiles
from tests.support.registering import (
    all_registered,
    nothing_registered,
    take_out_but,
)

RunnerOf = Callable[[int], Runner]

register_profiles()

# What a shell runs in the background ignores Ctrl-C, as does all that it starts. Tests
# send it to programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests, and the hundreds of processes that they start, compile each module once, not
# each time, also where the environment asks for no files of bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_BEGAN = time.monotonic()
_LONG = 3600  # seconds, for a test in its long form


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options that choose among the tests."""
    parser.addoption("--minutes", type=float, help="of -m hunt", default=30.0)
    parser.addoption("--share", help="K/N: one of N parts of the tests, from 0")
    parser.addoption("--cached", type=float, help="the share that is verified")
    case_updates.declare_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile of the tests that are selected, unless another is named."""
    case_updates.configure(config)
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile(profile_of(config.option.markexpr))
    if config.option.markexpr == "hunt":
        config.option.markexpr = "hunt and not stress and not foreign"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark what is hunted with, give long forms their limit of time, take a share."""
    hunting = profile_of(config.option.markexpr) == HUNT
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.hunt)
        if hunting or item.get_closest_marker("stress"):
            item.add_marker(pytest.mark.timeout(_LONG), append=False)
    if share := config.getoption("--share"):
        part, parts = map(int, share.split("/"))
        taken = {
            item for item in items if zlib.crc32(item.nodeid.encode()) % parts == part
        }
        config.hook.pytest_deselected(items=[one for one in items if one not in taken])
        items[:] = [item for item in items if item in taken]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Begin no test of a hunt whose time is over."""
    option = item.config.option
    if profile_of(option.markexpr) != HUNT:
        return None
    return time.monotonic() - _BEGAN > 60 * option.minutes or None


@settings(max_examples=1, database=None)
@given(st.none())
def _first_example(_: None) -> None:
    """Have Hypothesis make what it makes with the first example."""


def pytest_collection_finish() -> None:
    """Keep the collector from going through all tests, and all they import, in each."""
    # Of its generator of random numbers Hypothesis warns if the collector finds nothing
    # that refers to it; and what is frozen the collector does not look at.
    _first_example()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def runner_of(pytestconfig: pytest.Config) -> Iterator[RunnerOf]:
    """Give a function from a number of workers to a runner that has so many."""
    runners: dict[int, Runner] = {}
    share = pytestconfig.getoption("--cached")
    cache = None if share is None else FunctionCache(verify=share)

    def runner_of(workers: int) -> Runner:
        if workers not in runners:
            runners[workers] = open_runner(workers=workers, cache=cache)
        return runners[workers]

    yield runner_of
    for runner in runners.values():
        runner.close()


@pytest.fixture(scope="module")
def runner(runner_of: RunnerOf) -> Runner:
    """Give a runner with two workers."""
    return runner_of(2)


@pytest.fixture(scope="session")
def _registered_first() -> Mapping[str, Mapping[Any, Any]]:
    return all_registered()


@pytest.fixture(autouse=True)
def _nothing_stays_registered(
    _registered_first: Mapping[str, Mapping[Any, Any]],
) -> Iterator[None]:
    """Take out what a test registers: it would go to all workers after that."""
    before = program_entries()
    yield
    if program_entries() is not before:
        take_out_but(before, _registered_first)


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have objects be kept in a folder of the tests' own.

    Workers that use it at once wait for each other, however busy the machine is.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_store, "_WAITING_SECONDS", 100.0)
        patch.setenv("PARPASS_CACHE_DIR", str(tmp_path_factory.mktemp("objects")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_kernel_leaves_its_buffers() -> Iterator[None]:
    """Have machine code check each access, whatever a test compiles, and however.

    A test that looks at the code itself sets `tir.instrument_bound_checkers` to False.
    """
    if importlib.util.find_spec("parpass.ir") is None:  # see test_core_alone.py
        yield
        return
    from parpass.ir import tir_config

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tir_config, "CHECKS_BOUNDS", True)
        yield


@pytest.fixture
def no_program() -> Iterator[None]:
    """Take out what tests registered, so that no key of a cache has their code."""
    with nothing_registered():
        yield
