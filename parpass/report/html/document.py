"""The HTML file: its data, packed into it, and the parts that it is put together from.

The data is JSON. The texts of functions and loops are most of it: they are in chunks,
each deflated (RFC 1950) and in base64, which the page unpacks when a function of one is
looked at. Style, scripts and charts are in the file, so it needs no network.
"""

from __future__ import annotations

import base64
import string
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import msgspec

from parpass.report.report import Line

CHUNK_SIZE = 25  # functions, which a click unpacks in some milliseconds
_SCRIPTS = ("graph.js", "chains.js", "timeline.js", "page.js")


class PassRow(msgspec.Struct, frozen=True):
    """A pass, over all functions and processes; None is for what was not recorded.

    It is called as often on a function as it is in the pipeline.
    """

    name: str
    seconds: float
    calls: int | None
    functions: int | None
    changed: int | None
    remarks: int


class Version(msgspec.Struct, frozen=True):
    """The text of a function after a pass that changed it.

    Attributes:
        after: The pass; None for the first version.
        text: The text.
        diff: What changed since the version before; empty for the first one.
    """

    after: str | None = msgspec.field(name="pass")
    text: str
    diff: str


class FunctionRow(msgspec.Struct, frozen=True):
    """A function; `passes` has the seconds that each pass took on it, by its index."""

    name: str
    seconds: float
    versions: int
    remarks: int
    passes: Sequence[tuple[int, float]] = ()


class TimelineChart(msgspec.Struct, frozen=True):
    """The slices of the timeline that are drawn, by columns of equal length.

    Attributes:
        tracks: The names of the tracks, the topmost first.
        names: The names of passes and of what else there is to do.
        track: The index of the track of each slice.
        start: Microseconds from the start of the run.
        stop: Likewise.
        name: The index of its name.
        function: The index of its function; -1 if it is of none.
    """

    tracks: list[str]
    names: list[str]
    track: list[int]
    start: list[int]
    stop: list[int]
    name: list[int]
    function: list[int]


class RemarkRow(msgspec.Struct, frozen=True):
    """A remark; `source` and `line` are where its line is shown."""

    kind: str
    by: str = msgspec.field(name="pass")
    function: str | None
    message: str
    place: str | None = None
    source: str | None = None
    line: int | None = None


class ChainPart(msgspec.Struct, frozen=True):
    """A part of a compiled function, such as an operator, and the place it comes from.

    `place` is the source, and the line in it; empty for what a pass made. `line` is the
    text of that line.
    """

    name: str
    place: str
    line: str


class ChainCall(msgspec.Struct, frozen=True):
    """A call of a compiled function: its number among all calls, and its parts."""

    number: int
    parts: Sequence[ChainPart]


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The way from the source to a compiled function: calls, function, loops, code.

    Attributes:
        symbol: Its symbol in the library; empty if it has none.
        code: Where its machine code is, or what computes it instead.
        outline: The lines of an outline of its loops.
        text: The text of its loops; empty if it is not known.
    """

    function: str
    symbol: str
    code: str
    outline: Sequence[str]
    text: str
    calls: Sequence[ChainCall]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the page.

    Attributes:
        failure: The error that ended the run, or that it was cancelled.
        facts: The numbers of stages, jobs, functions and bytes, and notes, a line each.
        advice: What would help, the most helpful first.
        passes: The passes, in the order in which they ran.
        functions: The functions, in module order.
        versions: The versions of each function, in that order, the first one first.
        remarks: The remarks, in serial order.
        sources: Source texts by name, which remarks are shown in.
        chains: How compiled functions came from the source; none of other runs than a
            build's.
        timeline: The timeline; None if there is none.
        command: The command that made the page; empty if it was made by a program.
        trace: A trace file, compressed and in base64; empty if there is none.
    """

    title: str
    headline: str
    failure: str | None
    facts: Sequence[str]
    advice: Sequence[str]
    times: Sequence[Line]
    workers: Sequence[Line]
    passes: Sequence[PassRow]
    functions: Sequence[FunctionRow]
    versions: Sequence[Sequence[Version]]
    remarks: Sequence[RemarkRow]
    sources: Mapping[str, str]
    chains: Sequence[Chain] = ()
    timeline: TimelineChart | None = None
    command: str = ""
    trace: str = ""

    def to_html(self) -> str:
        script = "\n".join(map(_part, _SCRIPTS))
        content = (
            '<nav aria-label="parts of the report"></nav>',
            '<main tabindex="-1"></main>',
            f'<script type="application/json" id="data">{_json(self)}</script>',
            f"<script>{script}</script>",
        )
        return page_of(self.title, "", "\n".join(content))


def page_of(title: str, headline: str, content: str) -> str:
    """Return a page with a title and a headline as text, and content as HTML."""
    return string.Template(_part("page.html")).substitute(
        title=escape(title),
        style=_part("page.css"),
        headline=escape(headline),
        content=content,
    )


def _part(name: str) -> str:
    return (
        resources.files("parpass.report.html")
        .joinpath(name)
        .read_text(encoding="utf-8")
    )


def _json(document: Document) -> str:
    shown = msgspec.structs.asdict(document)
    del shown["versions"]
    shown["chains"] = [msgspec.structs.replace(one, text="") for one in document.chains]
    shown["chunks"] = _chunks(document.versions)
    shown["loop_chunks"] = _chunks([one.text for one in document.chains])
    made = msgspec.json.encode({**shown, "chunk_size": CHUNK_SIZE})
    # A script ends at "</script", whatever it holds, and "<!--" begins a comment.
    return made.decode().replace("<", "\\u003c")


def _chunks(items: Sequence[Any]) -> list[str | None]:
    starts = range(0, len(items), CHUNK_SIZE)
    return [_packed(items[at : at + CHUNK_SIZE]) for at in starts]


def _packed(items: Sequence[Any]) -> str | None:
    if not any(items):
        return None
    return base64.b64encode(zlib.compress(msgspec.json.encode(items))).decode()
