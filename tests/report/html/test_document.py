"""The file holds all that it shows, as data that no text in it can break out of."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from parpass.report.html.document import (
    CHUNK_SIZE,
    Chain,
    ChainCall,
    ChainPart,
    Document,
    FunctionRow,
    RemarkRow,
    Version,
)

HOSTILE = "</script><script>alert(1)</script><!--<script>&amp;$data\u2028"


def chain(text: str) -> Chain:
    call = ChainCall(0, [ChainPart(text, text, text)])
    return Chain(
        function=text, symbol="", code=text, outline=[text], text=text, calls=[call]
    )


def document(texts: Sequence[Sequence[str]], title: str = "a run") -> Document:
    versions = [
        [
            Version(f"Pass{at}" if at else None, text, text)
            for at, text in enumerate(one)
        ]
        for one in texts
    ]
    functions = [
        FunctionRow(f"f{at}", 0.5, len(one), 0) for at, one in enumerate(versions)
    ]
    return Document(
        title=title,
        headline="1.0 s",
        failure=None,
        facts=["1 stage"],
        advice=[title],
        times=[],
        workers=[],
        passes=[],
        functions=functions,
        versions=versions,
        remarks=[RemarkRow("missed", "FuseOps", "f0", title)],
        sources={title: title},
        chains=[chain(title)],
    )


def data_of(html: str) -> dict[str, Any]:
    """Return the data of a page, as a browser finds it: up to the first `</script`."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script', html)
    assert found is not None
    return json.loads(found[1])


def unpacked(chunks: list[str | None]) -> list[Any]:
    return [
        json.loads(zlib.decompress(base64.b64decode(chunk))) if chunk else None
        for chunk in chunks
    ]


def texts_of(data: dict[str, Any]) -> list[list[str]]:
    chunks = unpacked(data["chunks"])
    size = data["chunk_size"]
    return [
        [one["text"] for one in (chunks[at // size] or [[]] * size)[at % size]]
        for at in range(len(data["functions"]))
    ]


@given(st.lists(st.lists(st.text(), max_size=3), max_size=2 * CHUNK_SIZE + 1))
def test_each_version_of_each_function_is_in_it(texts: list[list[str]]) -> None:
    data = data_of(document(texts).to_html())
    assert texts_of(data) == texts
    assert [one["versions"] for one in data["functions"]] == [len(one) for one in texts]


@given(st.text() | st.just(HOSTILE))
def test_no_text_ends_the_script_that_it_is_in(text: str) -> None:
    html = document([[text]], title=text).to_html()
    data = data_of(html)
    assert data["title"] == data["advice"][0] == data["remarks"][0]["message"] == text
    assert data["sources"] == {text: text}
    assert data["chains"][0]["calls"][0]["parts"][0]["line"] == text
    assert len(re.findall("<script", html)) == 2
    assert html.rstrip().endswith("</html>")


def test_texts_of_loops_are_apart_from_the_rows_that_are_searched():
    chains = [chain(f"loops {at}") for at in range(CHUNK_SIZE + 1)]
    made = msgspec.structs.replace(document([]), chains=chains)
    data = data_of(made.to_html())
    texts = [one for chunk in unpacked(data["loop_chunks"]) for one in chunk]
    assert texts == [one.text for one in chains]
    assert {one["text"] for one in data["chains"]} == {""}


def test_it_asks_no_network_for_anything():
    html = document([["a", "b"]]).to_html()
    without_names = html.replace("http://www.w3.org/2000/svg", "")  # of a namespace
    without_names = without_names.replace("https://ui.perfetto.dev", "")  # by a click
    assert not re.search(r"https?://|@import|url\(|src=", without_names)
