"""HTML by which objects show themselves in a notebook.

Each function returns a fragment that needs nothing from elsewhere, takes its colours
from the page, dark or light, and is limited in size; what was left out is said in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

_MAX_TEXT_CHARS = 20_000  # of one text
_MAX_SHOWN_CHARS = 300_000  # of all texts of a fragment
_MAX_ENTRIES = 200  # that can be unfolded
_MAX_NAMES = 1_000  # of further ones, which are only named

_PRE = (
    "margin:.3em 0;padding:.5em;overflow:auto;max-height:40em;font-family:monospace;"
    "text-align:left;white-space:pre;border-left:2px solid;background:transparent"
)
_CELL = "text-align:left;padding:.1em .8em"


def preformatted(text: str) -> str:
    """Return a text as it is, in a monospaced font; a long one is cut."""
    left_out = len(text) - _MAX_TEXT_CHARS
    shown = f'<pre style="{_PRE}">{escape(text[:_MAX_TEXT_CHARS])}</pre>'
    return shown + (_note(f"{left_out:,} more characters") if left_out > 0 else "")


def folded_texts(title: str, texts: Iterable[tuple[str, Callable[[], str]]]) -> str:
    """Return texts that unfold at a click on their names.

    Args:
        title: What is above them.
        texts: The names, and what returns the texts. It is not called for those that
            are left out: beyond 200 of them, or 300,000 characters.
    """
    parts = [f"<div><b>{escape(title)}</b>"]
    others: list[str] = []
    entries = shown = 0
    for name, render in texts:
        if entries >= _MAX_ENTRIES or shown >= _MAX_SHOWN_CHARS:
            others.append(name)
            continue
        inside = preformatted(render())
        entries += 1
        shown += len(inside)
        summary = f'<summary style="font-family:monospace">{escape(name)}</summary>'
        parts.append(f"<details{' open' * (entries == 1)}>{summary}{inside}</details>")
    if others:
        names = ", ".join(others[:_MAX_NAMES])
        more = ", ..." if len(others) > _MAX_NAMES else ""
        parts.append(_note(f"{len(others):,} more without their text: {names}{more}"))
    return "".join([*parts, "</div>"])


def table(title: str, rows: Iterable[Sequence[str]], notes: Iterable[str] = ()) -> str:
    """Return a table below a title, and notes below it."""
    parts = [f"<div><b>{escape(title)}</b><table>"]
    for row in rows:
        cells = "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row)
        parts.append(f"<tr>{cells}</tr>")
    return "".join([*parts, "</table>", *map(_note, notes), "</div>"])


def item(name: str, detail: str = "", inside: Iterable[str] = ()) -> str:
    """Return a name with a detail and, in a list below it, fragments."""
    shown = f"<code>{escape(name)}</code> {escape(detail[:_MAX_TEXT_CHARS])}".rstrip()
    listed = "".join(f"<li>{one}</li>" for one in inside)
    return f"{shown}<ol>{listed}</ol>" if listed else shown


def _note(text: str) -> str:
    return f"<div><i>{escape(text)}</i></div>"
