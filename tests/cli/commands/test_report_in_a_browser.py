"""The page of a real run in a browser: its timeline, its functions, how long it takes.

`PARPASS_PICTURES=docs` keeps the picture of it that pages show.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass import IRModule
from parpass.cli import main
from parpass.runner import open_runner
from parpass.transform import PassContext
from tests.support.browser import OpenedPage, opened_page
from tests.support.cli.commands import write_model
from tests.support.relay.networks import mobilenet, resnet
from tests.support.runner.pooled import POOLED

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PASSES = "SimplifyInference,EliminateCommonSubexpr,FoldConstant,FuseOps"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("report") / "report.html"
    networks = {f"resnet{n}": resnet.get_workload(num_layers=n) for n in (18, 34, 50)}
    networks["mobilenet"] = mobilenet.get_workload()
    mod = IRModule({name: one["main"] for name, (one, _) in networks.items()})
    context = PassContext(opt_level=3, config=POOLED)
    with open_runner(workers=2) as runner:
        runner.run_sync(mod, PASSES, context=context)  # for workers that have started
        with runner.record(context) as recording:
            runner.run_sync(mod, PASSES, context=context)
    recording.write(file, "Four networks by two workers")
    return file.as_uri()


def go(opened: OpenedPage, address: str) -> None:
    opened.page.evaluate("to => { location.hash = to; }", address)
    is_shown = "to => document.body.dataset.shown === '#' + to"
    opened.page.wait_for_function(is_shown, arg=address)


def test_the_timeline_has_tracks_and_what_passes_did(report: str):
    with opened_page(report, width=1000, height=560) as opened:
        go(opened, "timeline")
        columns = opened.page.evaluate("data.timeline")
        functions = opened.page.evaluate("data.functions.map(one => one.name)")
        names = [columns["names"][one] for one in columns["name"]]
        owners = [functions[one] if one >= 0 else "" for one in columns["function"]]
        drawn = {*zip(names, owners, strict=True)}
        assert {("FuseOps", "resnet50"), ("FoldConstant", "mobilenet")} <= drawn
        opened.page.wait_for_timeout(500)  # until it is painted
        if folder := os.environ.get("PARPASS_PICTURES"):
            opened.screenshot(Path(folder) / "report.png")
        assert opened.page.locator("canvas").is_visible()
        assert opened.errors == []


def test_a_fused_network_is_shown_as_diff_and_graph(report: str):
    with opened_page(report) as opened:
        go(opened, "function/resnet50/last/diff")
        assert "Primitive=1" in opened.page.inner_text("pre")
        go(opened, "function/resnet50/last/graph")
        assert opened.page.locator(".graph g.block").count() > 3
        go(opened, "remarks")
        assert "fused operators" in opened.page.inner_text("main")
        assert opened.errors == []


def test_the_page_of_a_build_leads_from_a_node_to_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path / "kept"))
    model, page = (
        write_model(tmp_path / "net.onnx", "Relu", "Sqrt"),
        tmp_path / "p.html",
    )
    words = ["build", model, "-o", tmp_path / "net.so", "-j0", "-q", "--report", page]
    result = CliRunner().invoke(main, [*map(str, words)])
    assert (result.exit_code, result.output) == (0, "")
    with opened_page(page.as_uri()) as opened:
        go(opened, "kernels")
        opened.page.fill("#search", "v1 = Sqrt(v0)")
        opened.page.click("tbody tr")
        opened.page.wait_for_function("location.hash.startsWith('#kernel/')")
        opened.page.wait_for_selector("details")
        shown = opened.page.inner_text("main")
        for step in ("net.onnx:1 v0 = Relu(x)", "fused_nn_relu_sqrt", "for lane: "):
            assert step in shown
        assert " bytes at 0x" in shown
        opened.page.click("text=passes on fused_nn_relu_sqrt_")
        opened.page.wait_for_function("location.hash.startsWith('#function/')")
        opened.page.wait_for_selector("text=LowerToTIR")
        assert opened.errors == []
