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
# To be seen on white and on black.
_DIFF_COLOURS = {"+": "rgba(46,160,67,.25)", "-": "rgba(248,81,73,.25)"}
_CELL = "text-align:left;padding:.1em .8em"


def preformatted(text: str) -> str:
    """Return a text as it is, in a monospaced font; a long one is cut."""
    shown, left_out = _cut(text)
    return f'<pre style="{_PRE}">{escape(shown)}</pre>{_note(left_out)}'


def coloured_diff(title: str, diff: str) -> str:
    """Return a unified diff below a title, its lines in colours; a long one is cut."""
    shown, left_out = _cut(diff)
    lines = "".join(map(_diff_line, shown.split("\n")))
    pre = f'<pre style="{_PRE}">{lines}</pre>'
    return f"<div><b>{escape(title)}</b>{pre}{_note(left_out)}</div>"


def _diff_line(line: str) -> str:
    colour = _DIFF_COLOURS.get(line[:1], "transparent")
    return f'<div style="background:{colour}">{escape(line) or "&nbsp;"}</div>'


def page(html: str) -> str:
    """Return a whole page as a frame of a notebook."""
    style = "width:100%;height:42em;border:0"
    return f'<iframe style="{style}" srcdoc="{escape(html)}"></iframe>'


def folded_texts(title: str, texts: Iterable[tuple[str, Callable[[], str]]]) -> str:
    """Return texts that unfold at a click on their names.

    Those beyond 200 of them, or 300,000 characters, are left out, and not rendered.
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


def mime_bundle(text: str, html: str) -> dict[str, str]:
    """Return text and HTML by media type, as Jupyter's `_repr_mimebundle_` has them.

    It is for objects whose `repr` is no text to read: where no HTML is shown, the text
    is.
    """
    shown, left_out = _cut(text)
    note = f"\n... {left_out}" if left_out else ""
    return {"text/plain": shown + note, "text/html": html}


def progress_bar(text: str, done: int, whole: int, below: Iterable[str] = ()) -> str:
    """Return a bar that is filled in part, a text beside it, and lines below it."""
    bar = f'<progress value="{done}" max="{whole}"></progress>'
    style = "font-family:monospace;text-align:left"
    lines = [f"{bar} {escape(text)}", *(f"&emsp;{escape(line)}" for line in below)]
    return "".join(f'<div style="{style}">{line}</div>' for line in lines)


def _cut(text: str) -> tuple[str, str]:
    """Return the start of a text, and how much is left out; empty if nothing is."""
    left_out = len(text) - _MAX_TEXT_CHARS
    note = f"{left_out:,} more characters" if left_out > 0 else ""
    return text[:_MAX_TEXT_CHARS], note


def _note(text: str) -> str:
    return f"<div><i>{escape(text)}</i></div>" if text else ""
