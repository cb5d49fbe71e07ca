"""Objects show themselves in a notebook: whole, or with what was left out said."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from importlib import import_module
from typing import Any

from parpass import IRModule, notebook_html, relay
from parpass.notebook_html import folded_texts, mime_bundle, preformatted
from parpass.relay.transform import FoldConstant, InferType
from parpass.report.html.page import Recording
from parpass.runner import open_runner
from parpass.transform import Sequential
from tests.support.toy.texts import change_of

PROGRAM = """
def @main(%x: Tensor[(3,), float32]) { add(%x, %x) }
def @other(%y: Tensor[(3,), float32]) { nn.relu(%y) }
"""
VOID = {"br", "hr", "img", "input", "link", "meta"}


class _Balance(HTMLParser):
    """Checks that tags are closed in order, and gathers the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in VOID | {"script"}
        assert not {"src", "href"} & {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(one: object) -> str:
    """Return the text of what an object shows, which needs nothing from elsewhere."""
    html = getattr(one, "_repr_html_")()  # noqa: B009 -- the name that Jupyter gives it
    return _Balance(html).text


def test_a_module_has_its_functions_folded_and_a_function_is_its_text():
    mod = relay.parse(PROGRAM)
    html = mod._repr_html_()  # pyright: ignore[reportPrivateUsage] -- Jupyter's name
    assert re.findall(r"<summary[^>]*>(.*?)</summary>", html) == ["@main", "@other"]
    for function in mod.functions_by_name.values():
        assert str(function) in shown(mod)
        assert shown(function) == str(function)
    assert repr(mod) == "IRModule(2 functions: main, other)"


def test_what_is_text_stays_text():
    assert _Balance(preformatted("<script>&amp;")).text == "<script>&amp;"
    assert (
        "<b>bold</b>"
        in _Balance(folded_texts("<i>", [("<b>bold</b>", lambda: "")])).text
    )


def test_what_is_left_out_is_said_and_not_rendered():
    text = _Balance(preformatted("x" * 20_005)).text
    assert text == "x" * 20_000 + "5 more characters"
    rendered: list[int] = []

    def render(at: int) -> str:
        rendered.append(at)
        return "y" * 10_000

    texts = [(f"f{at}", lambda at=at: render(at)) for at in range(5_000)]
    html = folded_texts("many", texts)
    assert len(html) < 400_000
    assert len(rendered) < 40
    assert f"{5_000 - len(rendered):,} more without their text" in html


def test_a_huge_function_is_named_and_not_written_out():
    x = relay.var("x", shape=(3,))
    body: relay.Expr = x
    for _ in range(25_000):
        body = relay.negative(body)
    text = shown(IRModule.from_expr(relay.Function((x,), body)))
    assert "20,000 nodes" in text
    assert len(text) < 1_000


def test_a_pipeline_is_a_list_with_options_and_a_report_a_table():
    passes = Sequential(
        [InferType(), Sequential([FoldConstant()], name="inner")], name="outer"
    )
    text = shown(passes)
    names = ["outer", "InferType", "inner", "FoldConstant"]
    assert sorted(names, key=text.index) == names
    inline = relay.transform.DeadCodeElimination(inline_once=True)
    assert "inline_once=True" in shown(inline)
    with open_runner(workers=0) as runner:
        runner.run_sync(relay.parse(PROGRAM), passes)
        report = runner.last_report
    assert report is not None
    assert shown(report).startswith(report.headline)
    assert notebook_html.escape(report.advice[0]) in report._repr_html_()  # pyright: ignore[reportPrivateUsage] -- Jupyter's name


def test_a_change_shows_its_lines_in_colours():
    change = change_of("f", "one\n<b>", "one\n<i>")
    html = change._repr_html_()  # pyright: ignore[reportPrivateUsage] -- Jupyter's name
    assert "changed f" in html
    assert re.findall(r"background:(rgba[^\"]*)\">([^/]*)</div>", html) == [
        ("rgba(248,81,73,.25)", "-&lt;b&gt;"),
        ("rgba(46,160,67,.25)", "+&lt;i&gt;"),
    ]


def test_a_recording_is_a_frame_with_its_page():
    recording = Recording()
    html = recording._repr_html_()  # pyright: ignore[reportPrivateUsage] -- as above
    assert html.startswith("<iframe ")
    inside = re.search(r'srcdoc="([^"]*)"', html)
    assert inside is not None
    assert unescape(inside[1]) == recording.to_html()


def test_where_no_html_is_shown_they_are_text_to_read():
    formatters: Any = import_module("IPython.core.formatters").DisplayFormatter()

    def shown(one: object) -> str:
        data, _ = formatters.format(one)
        assert data.keys() == {"text/plain", "text/html"}
        return data["text/plain"]

    change = change_of("f", "one\n<b>", "one\n<i>")
    assert shown(change) == "changed f\n@@ -1,2 +1,2 @@\n one\n-<b>\n+<i>"
    with open_runner(workers=0) as runner, runner.record() as recording:
        runner.run_sync(relay.parse(PROGRAM), InferType())
    assert shown(runner.last_report) == str(runner.last_report) == shown(recording)
    long = mime_bundle("x" * 20_005, "")["text/plain"]
    assert long == "x" * 20_000 + "\n... 5 more characters"
