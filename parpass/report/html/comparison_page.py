"""A comparison of two runs as a page: one file, which needs no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from parpass.report.comparison import Change, Comparison, amounts, seconds_text
from parpass.report.figures import size_text
from parpass.report.html.document import page_of

# The heads of columns, and the classes of their cells.
_HEADS = (
    ("", "name"),
    ("before", "number"),
    ("after", "number"),
    ("", "bars"),
    ("change", "number"),
    ("noise", "number"),
    ("", "number"),
    ("which is", "verdict"),
)


def comparison_page(found: Comparison, before: str, after: str) -> str:
    """Return the page of a comparison; `before` and `after` are names of the runs."""
    content = "\n".join(["<main>", *_content(found), "</main>"])
    return page_of(f"{before} and {after}", _headline(found), content)


def _headline(found: Comparison) -> str:
    _, before, after, change, _, percent, verdict = amounts(found.run, seconds_text)
    share = f", {percent}" if percent else ""
    runs = f"medians of {found.runs_before} and {found.runs_after} runs"
    return f"{before}, then {after}: {verdict} ({change}{share}; {runs})"


def _content(found: Comparison) -> Iterator[str]:
    yield from (f'<p class="dim">{escape(note)}</p>' for note in found.notes)
    yield from _table("Time by pass", found.passes, seconds_text)
    yield from _table("Time by function", found.functions, seconds_text)
    yield from _table("Memory by pass", found.memory, size_text)
    if not found.counters:
        yield "<h2>What passes counted</h2><p>It is the same.</p>"
        return
    heads = [(one, "name") for one in ("pass", "function", "counter")]
    heads += [(one, "number") for one in ("before", "after", "change")]
    rows = [
        [
            one.pass_name,
            one.function or "(all)",
            one.counter,
            f"{one.before:,}",
            f"{one.after:,}",
            f"{one.after - one.before:+,}",
        ]
        for one in found.counters
    ]
    yield from _rows(
        "What passes counted", heads, [[*map(escape, row)] for row in rows]
    )


def _table(
    title: str, changes: Sequence[Change], text: Callable[[float], str]
) -> Iterator[str]:
    if not changes:
        return
    most = max(max(one.before or 0.0, one.after or 0.0) for one in changes) or 1.0
    rows: list[list[str]] = []
    for one in changes:
        cells = [*map(escape, amounts(one, text))]
        bars = _bar("before", one.before, most) + _bar("after", one.after, most)
        rows.append([*cells[:3], bars, *cells[3:]])
    yield from _rows(title, _HEADS, rows)


def _bar(kind: str, amount: float | None, most: float) -> str:
    width = 100 * (amount or 0.0) / most
    return f'<span class="bar {kind}" style="width:{width:.1f}%"></span>'


def _rows(
    title: str, heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    yield f'<h2>{title}</h2><div class="scroll"><table><thead><tr>'
    yield "".join(f'<th class="{kind}">{head}</th>' for head, kind in heads)
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = zip(heads, row, strict=True)
        shown = "".join(f'<td class="{kind}">{cell}</td>' for (_, kind), cell in cells)
        yield f"<tr>{shown}</tr>"
    yield "</tbody></table></div>"
