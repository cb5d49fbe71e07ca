"""Pages of the command and its subcommands, of their own help; also its man pages.

`sphinx-build -b man docs build/man` makes `parpass.1`, `parpass-opt.1` and so on.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping

import click

from docs.site.reference import title
from parpass.cli.group import SHIPPED, main
from parpass.cli.options.syntax import Option

_FOLDER = "commands"
_OTHER = "Other"
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w)")
_SPECIAL = re.compile(r"([\\*`|_@])")  # an @ would make an address of mail
_OPTION = re.compile(r"(?<![^\s(\[])(--?[a-zA-Z][\w-]*)(?=[\s.,;:)\]]|$)")


def man_pages(folder: str) -> list[tuple[str, str, str, str, int]]:
    """Return what Sphinx is told of man pages: document, name, description, section.

    Args:
        folder: Where the pages are, in the folder of the documents.
    """
    about = "run pipelines of compiler passes, on every core"
    pages = [("parpass", "parpass", about)]
    pages += [
        (f"parpass-{name}", f"parpass-{name}", _short(text))
        for name, text in SHIPPED.items()
    ]
    return [
        (f"{folder}/{_FOLDER}/{document}", name, text, "the authors of parpass", 1)
        for document, name, text in pages
    ]


def command_pages() -> dict[str, str]:
    """Return the pages by document, in reStructuredText."""
    context = click.Context(main, info_name="parpass", **main.context_settings)
    pages = {f"{_FOLDER}/parpass": "\n".join(_group())}
    for name in SHIPPED:
        command = main.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        pages[f"{_FOLDER}/parpass-{name}"] = "\n".join(_page(command, own))
    return pages


def _short(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}".removesuffix(".")


def _group() -> Iterator[str]:
    yield from title("parpass")
    yield from _text(main.help or "")
    yield from title("Subcommands", "-")
    for name, text in SHIPPED.items():
        yield from (f":doc:`parpass {name} <parpass-{name}>`", f"   {_plain(text)}", "")
    yield from (".. toctree::", "   :hidden:", "")
    yield from (f"   parpass-{name}" for name in SHIPPED)
    yield ""


def _page(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from title(context.command_path)
    yield from title("Synopsis", "-")
    yield from ("::", "", f"    {' '.join(_usage(command, context))}", "")
    yield from title("Description", "-")
    yield from _text(command.help or "")
    yield from (f".. program:: {context.command_path}", "")
    for heading, options in _sections(command, context).items():
        yield from title(heading, "-")
        for names, text in options:
            yield from _option(names, text)
    if command.epilog:
        head, colon, codes = command.epilog.partition(": ")
        yield from title(head if colon else "Exit codes", "-")
        yield from (_plain(codes or head), "")


def _usage(command: click.Command, context: click.Context) -> list[str]:
    return [context.command_path, *command.collect_usage_pieces(context)]


def _sections(
    command: click.Command, context: click.Context
) -> Mapping[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and not isinstance(param, click.Argument):
            heading = param.section if isinstance(param, Option) else _OTHER
            found.setdefault(heading, []).append(record)
    other = found.pop(_OTHER, None)
    return found if other is None else {**found, _OTHER: other}


def _option(names: str, text: str) -> Iterator[str]:
    """Yield an option, which the site's search finds by each of its names."""
    found = re.findall(r"--?[\w-]+", names)
    yield from (f".. index:: {', '.join(f'! {name}' for name in found)}", "")
    yield from (f".. option:: {names}", "", f"   {_plain(text)}", "")


def _text(text: str) -> Iterator[str]:
    """Yield a help text: paragraphs, and examples as they are written."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            heading, _, lines = paragraph.removeprefix("\b\n").partition("\n")
            yield from (f"{heading}:", "")
            yield from (textwrap.indent(textwrap.dedent(lines), "    "), "")
        else:
            yield from (_plain(paragraph), "")


def _plain(text: str) -> str:
    """Return text as reStructuredText: what is quoted, and options, as code."""
    parts = _QUOTED.split(" ".join(text.split()))  # every second one was quoted
    return "".join(
        f"``{part}``" if at % 2 else _OPTION.sub(r"``\1``", _SPECIAL.sub(r"\\\1", part))
        for at, part in enumerate(parts)
    )
