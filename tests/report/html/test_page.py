"""The page in a real browser: it opens, finds, compares, follows clicks and keys."""

from __future__ import annotations

import random
from collections.abc import Generator
from pathlib import Path

import pytest

from parpass.report.html.document import (
    Chain,
    ChainCall,
    ChainPart,
    Document,
    FunctionRow,
    PassRow,
    RemarkRow,
    TimeRow,
    Version,
)
from tests.support.browser import OpenedPage, opened_page

pytestmark = pytest.mark.browser

PASSES = ["InferType", "SimplifyExpr", "FoldConstant"]
TEXT = """def @{0}(%x: Tensor[(8), float32]) {{
  %0 = nn.relu(%x);
  %1 = fn (%p0: Tensor[(8), float32]) {{
    %2 = tanh(%p0);
    exp(%2)
  }};
  %3 = %1(%0);
  %4 = add(%3, %0);
  negative(%4)
}}"""


def chain(at: int) -> Chain:
    calls = [
        ChainCall(
            number,
            [
                ChainPart("nn.conv2d", f"m:{number}", f"line of conv{number}"),
                ChainPart("add", "", ""),
            ],
        )
        for number in (2 * at, 2 * at + 1)
    ]
    return Chain(
        function=f"f{at}",
        symbol=f"f{at}_0123",
        code=f"f{at}_0123, 64 bytes at 0x1000",
        outline=["for i: 8 times, parallel", "  for j: 4 times, writes out"],
        text=f"@f{at} = primfn() <b> {{\n}}",
        calls=calls,
    )


def document(functions: int) -> Document:
    versions = [
        [Version(None, TEXT.format(f"f{at}"))]
        + [
            Version(name, TEXT.format(f"f{at}").replace("relu", f"relu{step}"))
            for step, name in enumerate(PASSES)
        ]
        for at in range(functions)
    ]
    return Document(
        title="a run",
        headline="1.0 s. Estimated speed-up 1.8x",
        failure="InferType failed: <b>no</b> such type",
        facts=["1 stage, 20 jobs", "copies took 1 s"],
        advice=["let workers do <more>"],
        times=[TimeRow("in the workers", 1.0, "98% busy")],
        workers=[TimeRow("busy", 1.9, "")],
        passes=[PassRow(name, 0.1, functions, functions, 0) for name in PASSES],
        functions=[
            FunctionRow(f"f{at}", at / functions, 4, int(at == 3))
            for at in range(functions)
        ],
        versions=versions,
        remarks=[
            RemarkRow("missed", "FuseOps", "f3", "opaque", "m:2:1", "m", 2),
        ],
        sources={"m": "one\ntwo\nthree"},
        chains=[chain(at) for at in range(functions)],
    )


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    path.write_text(document(300).to_html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(report: str) -> Generator[OpenedPage]:
    with opened_page(report) as one:
        yield one
        assert one.errors == []


def go(opened: OpenedPage, address: str) -> str:
    """Go to an address, and return the text that is shown there."""
    opened.page.evaluate("to => { location.hash = to; }", address)
    return arrived(opened, address)


def arrived(opened: OpenedPage, address: str) -> str:
    """Wait until an address is shown, and return the text there."""
    is_shown = "to => document.body.dataset.shown === '#' + to"
    opened.page.wait_for_function(is_shown, arg=address)
    return opened.page.inner_text("main")


def test_it_opens_with_what_would_help_and_how_it_failed(opened: OpenedPage):
    page = opened.page
    for text in ("let workers do <more>", "1 stage, 20 jobs", "copies took 1 s"):
        assert text in page.inner_text("main")
    assert page.inner_text(".failed") == "InferType failed: <b>no</b> such type"
    assert "Estimated speed-up 1.8x" in page.inner_text("#headline")


def test_search_finds_functions_and_enter_opens_the_first(opened: OpenedPage):
    go(opened, "functions")
    opened.page.fill("#search", "F29")
    rows = opened.page.locator("#found tbody tr")
    assert rows.count() == 11  # f29 and f290 to f299
    opened.page.press("#search", "Enter")
    shown = arrived(opened, "function/f299/last/diff")  # it took longest
    assert "3. FoldConstant" in shown


def test_a_click_on_a_function_shows_what_its_last_pass_changed(opened: OpenedPage):
    go(opened, "functions")
    opened.page.click("text=f298")
    arrived(opened, "function/f298/last/diff")
    assert opened.page.inner_text(".removed") == "-   %0 = nn.relu1(%x);"
    assert opened.page.inner_text(".added") == "+   %0 = nn.relu2(%x);"


def test_keys_go_through_parts_functions_versions_and_views(opened: OpenedPage):
    keys = opened.page.keyboard
    keys.press("4")
    arrived(opened, "functions")
    keys.press("/")
    assert opened.page.evaluate("document.activeElement.id") == "search"
    go(opened, "function/f3/last/diff")
    opened.page.evaluate("document.activeElement.blur()")
    for key, address in (
        ("k", "function/f3/2/diff"),
        ("t", "function/f3/2/text"),
        ("n", "function/f4/last/text"),
        ("p", "function/f3/last/text"),
        ("g", "function/f3/last/graph"),
        ("r", "function/f3/last/remarks"),
        ("1", "overview"),
    ):
        keys.press(key)
        arrived(opened, address)


def test_remarks_stand_beside_the_lines_that_they_are_about(opened: OpenedPage):
    shown = go(opened, "function/f3/last/remarks")
    assert shown.index("two") < shown.index("missed FuseOps: opaque") < len(shown)
    assert opened.page.inner_text("pre .note").split() == ["2", "two"]


def test_a_line_of_the_source_leads_to_machine_code_and_back(opened: OpenedPage):
    page = opened.page
    page.keyboard.press("6")
    arrived(opened, "kernels")
    assert page.locator("tbody tr").count() == 200
    page.fill("#search", "M:7: ")
    (row,) = page.locator("tbody tr").all_inner_texts()
    for step in ("m:7: line of conv7", "f3", "for i: 8 times", "64 bytes at 0x1000"):
        assert step in row
    page.focus("tbody tr")
    page.keyboard.press("Enter")
    shown = arrived(opened, "kernel/f3")
    assert "  for j: 4 times, writes out" in page.inner_text("pre")
    steps = ["line of conv6", "made by a pass", "Fused function", "Loops", "64 bytes"]
    assert sorted(steps, key=shown.index) == steps
    page.click("summary")
    assert page.inner_text("details pre").startswith("@f3 = primfn() <b> {")
    page.click("text=passes on f3")
    assert "3. FoldConstant" in arrived(opened, "function/f3/last/diff")
    page.click("text=where it comes from")
    arrived(opened, "kernel/f3")
    page.click("a:text-is('m:7')")
    arrived(opened, "kernels")
    assert page.locator("tbody tr").count() == 1


def test_a_graph_has_a_box_for_each_operator_and_one_for_a_function_inside(
    opened: OpenedPage,
):
    go(opened, "function/f0/0/graph")
    boxes = opened.page.locator(".graph g text:not(.small)").all_text_contents()
    assert boxes == ["nn.relu", "tanh + exp", "add", "negative"]
    assert opened.page.locator(".graph path").count() == 4


def test_a_long_function_is_folded_and_a_click_opens_a_block(opened: OpenedPage):
    lines = [f"%{at + 1} = op{at % 3}(%{at});" for at in range(200)]
    opened.page.evaluate(
        "text => main.replaceChildren(graphOf(text))", "\n".join(lines)
    )
    blocks = opened.page.locator(".graph g.block").count()
    assert 20 <= blocks <= 30
    assert opened.page.locator(".graph g.node").count() == 0


def test_a_diff_makes_the_one_text_of_the_other(opened: OpenedPage):
    rng = random.Random(0)
    pairs = [
        [[rng.choice("abcdef") for _ in range(rng.randrange(30))] for _ in range(2)]
        for _ in range(300)
    ]
    scripts = opened.page.evaluate("pairs => pairs.map(([a, b]) => edits(a, b))", pairs)
    for (before, after), script in zip(pairs, scripts, strict=True):
        assert [line for mark, line in script if mark != "+"] == before
        assert [line for mark, line in script if mark != "-"] == after


def test_a_diff_is_as_short_as_there_is_one(opened: OpenedPage):
    script = opened.page.evaluate("edits([...'abcabba'], [...'cbabac'])")
    assert sum(mark != " " for mark, _ in script) == 5  # Myers' own example


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colours_of_the_system_and_fits_a_phone(
    report: str, scheme: str
):
    with opened_page(report, scheme=scheme, width=390) as opened:
        colour = "getComputedStyle(document.body).backgroundColor"
        shade = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]
        assert opened.page.evaluate(colour) == shade
        for address in (
            *("overview", "passes", "functions", "function/f3/last/diff"),
            *("kernels", "kernel/f3"),
        ):
            go(opened, address)
            width = opened.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, address
        assert opened.errors == []
