"""The page in a real browser: it opens, finds, compares, follows clicks and keys."""

from __future__ import annotations

import base64
from collections.abc import Generator, Iterator
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
    TimelineChart,
    Version,
)
from parpass.report.report import Line
from parpass.transform.capture.structural_diff import structural_diff
from tests.support.browser import OpenedPage, opened_page, serving

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


# Does what Perfetto's page does with one that gives it a trace.
PERFETTO = """<script>
addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", event.origin);
  const { title, buffer } = event.data.perfetto ?? {};
  if (buffer) document.body.append(`${title}: ${buffer.byteLength} bytes`);
});
</script>"""


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


def versions_of(text: str) -> Iterator[Version]:
    before = text
    yield Version(None, text, "")
    for step, name in enumerate(PASSES):
        after = text.replace("relu", f"relu{step}")
        yield Version(name, after, structural_diff(before, after))
        before = after


def document(functions: int) -> Document:
    versions = [list(versions_of(TEXT.format(f"f{at}"))) for at in range(functions)]
    return Document(
        title="a run",
        headline="1.0 s. Measured speed-up 1.80x",
        failure="InferType failed: <b>no</b> such type",
        facts=["1 stage, 20 jobs", "copies took 1 s"],
        advice=["let workers do <more>"],
        times=[Line("in the workers", 1.0, "98% busy")],
        workers=[Line("busy", 1.9, "")],
        passes=[
            PassRow(name, seconds, 2 * functions, functions, functions, 0)
            for name, seconds in zip(PASSES, (0.06, 0.2, 0.04), strict=True)
        ],
        functions=[
            FunctionRow(
                *(f"f{at}", at / functions, 4, int(at == 3)),
                [(0, at / 1000), (2, (at + 4) / 1000)],
            )
            for at in range(functions)
        ],
        versions=versions,
        remarks=[
            RemarkRow("missed", "FuseOps", "f3", "opaque", "m:2:1", "m", 2),
        ],
        sources={"m": "one\ntwo\nthree"},
        chains=[chain(at) for at in range(functions)],
        command="parpass opt 'a <b>.relay' -O3",
        trace=base64.b64encode(b"abc").decode(),
        timeline=TimelineChart(
            tracks=["a", "b"],
            names=["InferType", "idle"],
            track=[0, 1, 1],
            start=[0, 100_000, 500_000],
            stop=[1_000_000, 500_000, 900_000],
            name=[1, 0, 0],
            function=[-1, 7, 8],
        ),
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
    assert "Measured speed-up 1.80x" in page.inner_text("#headline")


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
    assert opened.page.inner_text(".removed") == "-  %0 = nn.relu1(%x);"
    assert opened.page.inner_text(".added") == "+  %0 = nn.relu2(%x);"


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
    assert "  for j: 4 times, writes out" in page.inner_text("main pre")
    steps = ["line of conv6", "made by a pass", "Fused function", "Loops", "64 bytes"]
    assert sorted(steps, key=shown.index) == steps
    page.click("main summary")
    assert page.inner_text("main details pre").startswith("@f3 = primfn() <b> {")
    page.click("text=passes on f3")
    assert "3. FoldConstant" in arrived(opened, "function/f3/last/diff")
    page.click("text=where it comes from")
    arrived(opened, "kernel/f3")
    page.click("a:text-is('m:7')")
    arrived(opened, "kernels")
    assert page.locator("tbody tr").count() == 1
    page.press("#search", "Enter")
    arrived(opened, "kernel/f3")


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


def test_the_overview_names_what_is_slowest_and_its_share(opened: OpenedPage):
    shown = opened.page.inner_text("main")
    assert "Slowest pass: SimplifyExpr, 200.0 ms, 67% of all passes" in shown
    assert "Slowest function: f299, 996.7 ms, 0.7% of all functions" in shown


def test_passes_are_sorted_by_a_click_on_a_heading(opened: OpenedPage):
    def order() -> list[str]:
        rows = opened.page.locator("tbody tr td:first-child").all_inner_texts()
        return [one.strip() for one in rows]

    shown = go(opened, "passes")
    assert [*PASSES] == order()
    assert all(text in shown for text in ("67%", "600", "300"))
    by_time = ["SimplifyExpr", "InferType", "FoldConstant"]
    for wanted in (by_time, by_time[::-1], PASSES):
        opened.page.click("th :text('time')")
        assert order() == wanted
    opened.page.click("th :text('pass')")
    assert order() == sorted(PASSES)
    assert opened.page.get_attribute("th", "aria-sort") == "ascending"


def test_a_function_has_the_time_of_each_pass_beside_it(opened: OpenedPage):
    go(opened, "function/f3/last/diff")
    rows = opened.page.locator(".times tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["FoldConstant", "7.0", "ms"],
        ["InferType", "3.0", "ms"],
    ]


def test_a_click_on_a_slice_of_the_timeline_opens_its_function(opened: OpenedPage):
    go(opened, "timeline")
    assert opened.page.locator(".legend li").all_inner_texts() == ["InferType", "idle"]
    box = opened.page.locator("canvas").bounding_box()
    assert box is not None
    inside = box["width"] - 60  # that of the names is less
    opened.page.mouse.move(box["x"] + 60 + inside / 4, box["y"] + 45)
    assert opened.page.inner_text(".tip") == "InferType, f7, 400.0 ms"
    opened.page.mouse.down()
    opened.page.mouse.up()
    arrived(opened, "function/f7/last/diff")


def test_the_timeline_zooms_and_shows_all_again(opened: OpenedPage):
    go(opened, "timeline")
    times = "[shownTime.from, shownTime.to]"
    assert opened.page.evaluate(times) == [0, 1e6]
    opened.page.click("[aria-label='zoom in']")
    assert opened.page.evaluate(times) == [250000, 750000]
    opened.page.click("[aria-label='show all']")
    assert opened.page.evaluate(times) == [0, 1e6]


def test_the_command_that_made_it_is_shown(opened: OpenedPage):
    opened.page.click("text=The command that made this page")
    assert opened.page.inner_text(".command pre") == "parpass opt 'a <b>.relay' -O3"


def test_the_trace_is_given_to_perfetto_by_a_click(report: str):
    folder = Path(report.removeprefix("file://")).parent
    (folder / "perfetto.html").write_text(PERFETTO)
    with serving(folder, {}) as url, opened_page(f"{url}/report.html") as opened:
        go(opened, "timeline")
        assert opened.page.locator("text=Open the trace in Perfetto").is_visible()
        with opened.page.expect_popup() as popup:
            opened.page.evaluate(f"openInPerfetto('{url}/perfetto.html')")
        popup.value.wait_for_selector("text=a run: 3 bytes")
        with opened.page.expect_download() as download:
            opened.page.click("text=Save the trace")
        assert download.value.path().read_bytes() == b"abc"
        assert opened.errors == []


def test_no_two_kinds_have_one_colour(opened: OpenedPage):
    colours = opened.page.evaluate("[...Array(200).keys()].map(colourOf)")
    assert len({*colours}) == 200


def test_labels_stay_in_their_boxes(opened: OpenedPage):
    text = (
        "%0 = WWWWWWWWWWWWWWWWWWWWWWWWWWWW(%iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii);"
    )
    opened.page.evaluate("text => main.replaceChildren(graphOf(text))", text)
    ends = opened.page.evaluate(
        "[...document.querySelectorAll('.graph text')].map(one => one.getBBox())"
        ".map(box => box.x + box.width)"
    )
    assert len(ends) == 2
    assert max(ends) <= 170


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colours_of_the_system_and_fits_a_phone(
    report: str, scheme: str
):
    with opened_page(report, scheme=scheme, width=390) as opened:
        colour = "getComputedStyle(document.body).backgroundColor"
        shade = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]
        assert opened.page.evaluate(colour) == shade
        for address in (
            *("overview", "timeline", "passes", "functions", "function/f3/last/diff"),
            *("kernels", "kernel/f3"),
        ):
            go(opened, address)
            width = opened.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, address
        go(opened, "passes")
        assert opened.page.locator("td.bars").first.is_visible()
        assert opened.errors == []
