"""The layers of a function cache on Relay: the law, and what bad layers cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import SlowerRunWarning
from parpass.integrations.http import HttpLayer
from parpass.ir.module import IRModule
from parpass.object_store import ObjectStore
from parpass.runner import FunctionCache, open_runner
from parpass.transform import Sequential
from tests.relay.kept_functions import PIPELINE, TEXT, made
from tests.relay.test_function_cache import PooledCalls
from tests.support.docs.steps import snippets
from tests.support.integrations.cache_server import CacheServer, serving
from tests.support.relay.comparing import check_relay
from tests.support.relay.pipelines import relay_pipelines
from tests.support.relay.programs import modules
from tests.support.runner.comparing import law_on
from tests.support.runner.pooled import POOLED
from tests.support.watching import Blind

pytestmark = pytest.mark.usefixtures("no_program")

PAGE = Path(__file__).parents[2] / "docs/incremental.md"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder that examples fill."""
    return tmp_path_factory.mktemp("filled")


@pytest.fixture
def server() -> Iterator[CacheServer]:
    """Give a server on this machine."""
    with serving() as server:
        yield server


@pytest.mark.slow
@law_on(1)
@given(
    workers=st.sampled_from([2, 0]),
    verify=st.sampled_from([0.0, 0.0, 1.0]),
    reads_server=st.booleans(),
    mod=modules(),
    pipeline=relay_pipelines(),
)
def test_results_of_lower_layers_are_those_of_a_serial_run(
    filled: Path,
    workers: int,
    verify: float,
    reads_server: bool,
    mod: IRModule,
    pipeline: Sequential,
):
    with serving() as server:
        there = HttpLayer(server.url, is_writable=True)
        lower = server.url if reads_server else filled
        caches = [
            FunctionCache(filled, lower=[there]),
            FunctionCache(lower=[lower], verify=verify),
        ]
        for cache in caches:
            calls: Any = PooledCalls(workers, cache)
            check_relay(pipeline, mod, lambda: [Blind()], calls, POOLED)


def recalled(folder: Path | None = None, **how: Any) -> int:
    """Run a pipeline; return how many of three functions were not run."""
    after, count = made(TEXT, folder, **how)
    assert after == made(TEXT)[0]
    return count


def test_what_is_found_below_is_kept_above(tmp_path: Path, server: CacheServer):
    there = HttpLayer(server.url, is_writable=True)
    assert recalled(lower=[there]) == 0
    assert server.asked == ["GET"] * 3 + ["PUT"] * 3
    upper = tmp_path / "upper"
    assert recalled(upper, lower=[server.url]) == 3
    assert ObjectStore(upper).state().size.objects == 3
    assert recalled(tmp_path / "other", lower=[upper]) == 3
    assert recalled(tmp_path / "other") == 3
    assert len(server.asked) == 9


def test_jobs_share_a_server_as_the_page_says(
    tmp_path: Path, server: CacheServer, monkeypatch: pytest.MonkeyPatch
):
    code = next(one.text for one in snippets(PAGE) if "cache_of_ci" in one.text)
    names: dict[str, Any] = {"FunctionCache": FunctionCache}
    exec(code, names)
    found: list[int] = []
    for branch in ("proposed", "main", "proposed"):
        environment = {"CACHE_URL": server.url, "CACHE_TOKEN": "t", "BRANCH": branch}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        (tmp_path / str(len(found))).mkdir()
        monkeypatch.chdir(tmp_path / str(len(found)))  # as on another machine
        cache = names["cache_of_ci"]()
        with open_runner(workers=0, cache=cache) as runner:
            runner.run_sync(relay.parse(TEXT), PIPELINE)
            report = runner.last_report
        assert report is not None
        assert report.cache is not None
        found.append(report.cache.recalled)
    assert found == [0, 0, 3]
    assert server.headers["Authorization"] == "Bearer t"


def _fails(request: Any) -> bool:
    request.answer(503)
    return True


def test_a_server_that_fails_costs_one_warning_and_misses(server: CacheServer):
    recalled(lower=[HttpLayer(server.url, is_writable=True)])
    server.misbehave = _fails
    cache = FunctionCache(lower=[server.url])
    told = pytest.warns(SlowerRunWarning, match="503 Service Unavailable")
    with told as caught, open_runner(workers=0, cache=cache) as runner:
        for text in (TEXT, TEXT.replace("negative", "exp")):
            runner.run_sync(relay.parse(text), PIPELINE)
    assert len([one for one in caught if "503" in str(one.message)]) == 1


@pytest.mark.parametrize("form", ["none", "another", "of other types"])
def test_what_has_a_digest_and_not_the_form_is_a_miss(tmp_path: Path, form: str):
    folder, upper = tmp_path / "lower", tmp_path / "upper"
    recalled(folder)
    assert recalled(lower=[folder]) == 3
    for key, data in ObjectStore(folder).get(_keys(folder)).items():
        spoilt = {"none": b"", "another": b"\x91\x90", "of other types": data[:-1]}
        ObjectStore(folder).put({key: spoilt[form]})
    assert recalled(upper, lower=[folder]) == 0
    assert recalled(upper) == 3


def _keys(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "objects.sqlite") as table:
        keys = [key for (key,) in table.execute("select key from object")]
    table.close()
    return keys
