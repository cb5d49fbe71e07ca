"""The file holds all that it shows, as data that no text in it can break out of."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parpass.runner.report.html.document import (
    CHUNK_SIZE,
    Document,
    FunctionRow,
    RemarkRow,
    Version,
)

HOSTILE = "</script><script>alert(1)</script><!--<script>&amp;$data\u2028"


def document(texts: Sequence[Sequence[str]], title: str = "a run") -> Document:
    versions = [
        [Version(f"Pass{at}" if at else None, text) for at, text in enumerate(one)]
        for one in texts
    ]
    functions = [
        FunctionRow(f"f{at}", 0.5, len(one), 0) for at, one in enumerate(versions)
    ]
    return Document(
        title=title,
        headline="1.0 s",
        failure=None,
        counts="1 stage",
        advice=[title],
        times=[],
        workers=[],
        passes=[],
        functions=functions,
        versions=versions,
        remarks=[RemarkRow("missed", "FuseOps", "f0", title)],
        sources={title: title},
    )


def data_of(html: str) -> dict[str, Any]:
    """Return the data of a page, as a browser finds it: up to the first `</script`."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script', html)
    assert found is not None
    return json.loads(found[1])


def texts_of(data: dict[str, Any]) -> list[list[str]]:
    chunks = [
        json.loads(zlib.decompress(base64.b64decode(chunk))) if chunk else None
        for chunk in data["chunks"]
    ]
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
    assert len(re.findall("<script", html)) == 3
    assert html.rstrip().endswith("</html>")


def test_it_asks_no_network_for_anything():
    html = document([["a", "b"]]).to_html()
    without_names = html.replace("http://www.w3.org/2000/svg", "")  # of a namespace
    assert not re.search(r"https?://|@import|url\(|src=", without_names)
