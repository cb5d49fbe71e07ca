"""The extension of Sphinx that makes the site of pages that a code host shows as well.

Pages are plain Markdown, without directives. The table of contents is read from the
lists of links in `index.md`, by its sections, and in the list of decisions; a list
within an item of `index.md` becomes the table of contents of that item's page. Links
that lead out of this folder are led to the pages that are made of those files. The name
of a file, behind the language of the block that is its text, becomes its caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from docs.site.catalogues import catalogue_pages
from docs.site.command_pages import command_pages, man_pages
from docs.site.notebooks import PAGES, notebooks
from docs.site.reference import is_field_of_tuple, reference_pages, separated
from docs.site.root_pages import OUTSIDE, root_pages

_GENERATED = "generated"
_OPTIONS = f"{_GENERATED}/commands/"
_LISTS = ("index", "decisions/README", "tour/README")
_FIRST_OF_REFERENCE = "## Reference\n\nFacts to look up.\n\n"
_MADE = f"""\
* [Public names]({_GENERATED}/reference/index.rst): by module, from their docstrings
* [Subcommands]({_GENERATED}/commands/parpass.rst): of `parpass`, with all their options
* [Passes]({_GENERATED}/passes.rst): a program before and after each, and its cost
* [Errors and warnings]({_GENERATED}/errors.rst): the smallest cause of each
* [Options and environment variables]({_GENERATED}/options.rst): with their defaults
"""
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ITEM = re.compile(r"^( *)\* \[[^\]]+\]\(([^)#]+)\.(?:md|rst)\)", re.MULTILINE)
_FILE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(((?:\.\./)+)([^)#]+)((?:#[^)]*)?)\)")


def setup(app: Any) -> dict[str, Any]:
    """Connect what makes pages, and what reads them; called by Sphinx."""
    app.connect("builder-inited", _write_pages)
    app.connect("env-get-outdated", _pages_of_options)
    app.connect("source-read", _adapt)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", keep_results_whole, priority=400)
    app.connect("autodoc-process-docstring", _separate)
    app.connect("autodoc-process-signature", _without_placeholders)
    app.add_lexer("relay", _relay_lexer())
    app.config.man_pages = man_pages(_GENERATED)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(app: Any) -> None:
    """Write the generated pages; those that are as before keep their time."""
    folder = Path(app.srcdir) / _GENERATED
    wanted = {
        **{f"{name}.rst": text for name, text in reference_pages().items()},
        **{f"{name}.rst": text for name, text in catalogue_pages().items()},
        **{f"{name}.rst": text for name, text in command_pages().items()},
        **{f"{name}.md": text for name, text in root_pages().items()},
        **{f"notebooks/{name}.ipynb": text for name, text in notebooks().items()},
    }
    for path in folder.rglob("*.*"):
        if path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, text in wanted.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def _pages_of_options(
    app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return pages to read again even if they are as before.

    Sphinx's search forgets the index entries of other pages, by which it finds options.
    """
    return sorted(one for one in env.found_docs if one.startswith(_OPTIONS))


def _adapt(app: Any, docname: str, source: list[str]) -> None:
    """Adapt the text of a page; in place.

    Links lead to where pages are on the site, blocks have the names of their files, and
    lists of pages become tables of contents.
    """
    text = captioned(source[0])
    if not docname.startswith(_GENERATED):
        text = _LINK.sub(lambda found: _led(found, docname), text)
    if docname in PAGES:
        text = _with_notebook(text, docname)
    if docname == "index":
        text = text.replace(_FIRST_OF_REFERENCE, _FIRST_OF_REFERENCE + _MADE)
    if docname in _LISTS:
        text += "\n".join(contents(text))
    if below := pages_below(_index()).get(docname):
        text += "\n".join(_toctree("", [f"/{page}" for page in below]))
    source[0] = text


def _index() -> str:
    """Return the text of the index, with links as they lead on the site."""
    text = (Path(__file__).parents[1] / "index.md").read_text(encoding="utf-8")
    return _LINK.sub(lambda found: _led(found, "index"), text)


def _skip(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    return True if is_field_of_tuple(member) else None


def _separate(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Let letters follow a name in backquotes, as in Markdown; in place."""
    lines[:] = separated("\n".join(lines)).split("\n")


def keep_results_whole(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Keep Napoleon from taking a result's text before a colon as its type; in place.

    Types are in annotations. Napoleon gets an empty type in front of the text.
    """
    for at, line in enumerate(lines[:-1]):
        if line.strip() in ("Returns:", "Yields:"):
            text = lines[at + 1].lstrip()
            indent = lines[at + 1].removesuffix(text)
            lines[at + 1] = f"{indent}: {text}"


def _without_placeholders(
    app: Any, what: str, name: str, value: Any, options: Any, args: str, returns: str
) -> tuple[str, str] | None:
    """Return no arguments for a protocol, which nothing makes an object of."""
    is_protocol = what == "class" and getattr(value, "_is_protocol", False)
    return ("", "") if is_protocol else None


def _relay_lexer() -> type[Any]:
    """Return a lexer of Relay's text, for Pygments."""
    lexer: Any = import_module("pygments.lexer")
    token: Any = import_module("pygments.token")

    class RelayLexer(lexer.RegexLexer):
        name = "Relay"
        tokens: ClassVar[dict[str, Any]] = {
            "root": [
                (r"//.*|/\*.*?\*/", token.Comment),
                (r'"[^"\n]*"', token.String),
                (r"\b(def|fn|let|if|else|match|type|ref|meta)\b", token.Keyword),
                (r"[@%][\w.]+", token.Name.Variable),
                (r"\b(Tensor|u?int\d+|float\d+|bool)\b", token.Keyword.Type),
                (r"\b\d[\d.e]*[fh]?\b", token.Number),
                (r"[\w.]+", token.Name),
                (r"\s+", token.Whitespace),
                (r".", token.Punctuation),
            ]
        }

    return RelayLexer


def captioned(text: str) -> str:
    """Return a page on which a block that has a file's name has it as its caption."""
    return _FILE.sub('```{code-block} \\1\n:caption: "`\\2`"\n', text)


def _led(found: re.Match[str], docname: str) -> str:
    """Return a link to a file out of this folder as one to the page made of it."""
    page = OUTSIDE.get(found[2])
    if page is None or found[1].count("/") != docname.count("/") + 1:
        return found[0]
    up = "../" * docname.count("/")
    return f"]({up}{_GENERATED}/{page}.md{found[3]})"


def _with_notebook(text: str, docname: str) -> str:
    """Return a page that offers its notebook behind the first paragraph."""
    title, first, rest = text.split("\n\n", 2)
    file = f"/{_GENERATED}/notebooks/{docname}.ipynb"
    return f"{title}\n\n{first}\n\n[As a notebook]({file})\n\n{rest}"


def contents(text: str) -> Iterator[str]:
    """Yield a hidden table of contents for each list of links to pages.

    A section's heading is the caption of its table. Lists within items are left out.
    """
    pieces = _SECTION.split(text)
    for caption, piece in zip(["", *pieces[1::2]], pieces[::2], strict=True):
        if pages := [page for indent, page in _ITEM.findall(piece) if not indent]:
            yield from _toctree(caption, pages)


def pages_below(text: str) -> dict[str, list[str]]:
    """Return, by the page of an item, the pages of the list within the item."""
    found: dict[str, list[str]] = {}
    above = ""
    for indent, page in _ITEM.findall(text):
        if indent:
            found.setdefault(above, []).append(page)
        else:
            above = page
    return found


def _toctree(caption: str, pages: Iterable[str]) -> Iterator[str]:
    yield "\n\n```{toctree}\n:hidden:"
    if caption:
        yield f":caption: {caption}"
    yield from ("", *pages, "```")
