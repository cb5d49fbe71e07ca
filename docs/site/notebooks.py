"""Notebooks that are made of pages: their Python and commands become cells.

`python -m docs.site.notebooks FOLDER` writes them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from docs.site.blocks import Block, blocks

_DOCS = Path(__file__).resolve().parents[1]

# Pages by the documents that they are, of which there are notebooks.
PAGES = {
    page.relative_to(_DOCS).with_suffix("").as_posix(): page
    for page in [*sorted(_DOCS.glob("tour/[0-9]*.md")), _DOCS / "in-notebooks.md"]
}

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class Cell(NamedTuple):
    """A part of a page.

    Attributes:
        kind: `markdown`, `python`, `console` for one command, or `file`.
        text: Its text; of a command, what is typed.
        file: The name of the file that has the text; empty but for a file.
        shown: What the page shows that it prints.
    """

    kind: str
    text: str
    file: str = ""
    shown: str = ""


def cells(page: str) -> Iterator[Cell]:
    """Yield the parts of a page in their order.

    Args:
        page: Its text. A block with a file's name behind its language is that file; one
            of `python` is run, and a block `text` behind it has what it prints; one of
            `console` has a command behind `$ `, and what that prints.

    Raises:
        ValueError: A block of `console` has no command.
    """
    end = 0
    found = list(blocks(page))
    for block, following in zip_longest(found, found[1:]):
        if block.begin < end:  # it has what the Python before it prints
            continue
        made = _cell(block)
        if made is None:
            continue
        if between := page[end : block.begin].strip():
            yield Cell("markdown", between)
        end = block.end
        is_shown = made.kind == "python" and page.startswith("\n```text\n", end)
        if is_shown and following:
            made, end = made._replace(shown=following.text), following.end
        yield made
    if rest := page[end:].strip():
        yield Cell("markdown", rest)


def _cell(block: Block) -> Cell | None:
    if block.file:
        return Cell("file", block.text, block.file)
    if block.kind == "python":
        return Cell("python", block.text)
    if block.kind == "console":
        session = block.session()
        if session is None:
            raise ValueError(f"expected a command behind '$ ', got {block.text!r}")
        command, shown = session
        return Cell("console", command, shown=shown)
    return None


def page_of(parts: list[Cell]) -> str:
    """Return the text of a page with these parts."""
    return "\n".join(_block(part) for part in parts)


def _block(part: Cell) -> str:
    match part.kind:
        case "markdown":
            return f"{part.text}\n"
        case "python":
            shown = f"\n```text\n{part.shown}```\n" if part.shown else ""
            return f"```python\n{part.text}```\n{shown}"
        case "console":
            return f"```console\n$ {part.text}\n{part.shown}```\n"
        case _:
            return f"```{Path(part.file).suffix[1:]} {part.file}\n{part.text}```\n"


def notebook(page: str) -> str:
    """Return a page as a notebook, with what it prints; links become their words."""
    v4: Any = import_module("nbformat.v4")
    made = v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    for at, part in enumerate(cells(page)):
        name = f"cell-{at}"
        if part.kind == "markdown":
            text = _LINK.sub(r"\1", part.text)
            made.cells.append(v4.new_markdown_cell(text, id=name))
            continue
        shown = [v4.new_output("stream", text=part.shown)] if part.shown else []
        made.cells.append(v4.new_code_cell(_typed(part), id=name, outputs=shown))
    written: str = v4.writes(made)
    return written


def _typed(part: Cell) -> str:
    match part.kind:
        case "file":
            return f"%%writefile {part.file}\n{part.text}".rstrip()
        case "console":
            return f"!{part.text}"
        case _:
            return part.text.rstrip()


def notebooks() -> Mapping[str, str]:
    """Return the notebooks by the documents that they are made of."""
    return {
        name: notebook(page.read_text(encoding="utf-8")) for name, page in PAGES.items()
    }


if __name__ == "__main__":
    for name, text in notebooks().items():
        file = Path(sys.argv[1], name).with_suffix(".ipynb")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
