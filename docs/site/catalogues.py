"""The catalogues of the reference: passes, errors, options and environment variables.

They are made of what the command's listings are made of, and of the smallest programs
that raise an error, which are run; that of passes is in `pass_catalogue`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator

from docs.site.error_cases import CASES
from docs.site.pass_catalogue import pass_page
from docs.site.reference import indented, separated, title
from parpass.cli.commands.topics import (
    ENVIRONMENT,
    error_classes,
    option_kind,
    option_meaning,
)
from parpass.cli.operations.error_advice import ADVICE
from parpass.cli.options.listing import config_options


def catalogue_pages() -> dict[str, str]:
    """Return the catalogues by document, in reStructuredText."""
    return {
        "passes": "\n".join(pass_page()),
        "errors": "\n".join(_errors()),
        "options": "\n".join(_options()),
    }


def _errors() -> Iterator[str]:
    yield from title("Errors and warnings", "=")
    yield (
        "What each error means, and what to do. Each example was run when this page "
        "was made."
    )
    yield ""
    kinds = error_classes()
    yield from (" · ".join(f":ref:`{name} <error-{name}>`" for name in kinds), "")
    for name, kind in kinds.items():
        yield from (f".. _error-{name}:", "", *title(name, "-"))
        text = (inspect.getdoc(kind) or "").partition("\n\n")[0]
        yield from (_as_rst(text), "")
        bases = ", ".join(f"`{one.__name__}`" for one in kind.__bases__)
        yield from _fields(
            [("What to do", _as_rst(ADVICE[name])), ("Base classes", bases)]
        )
        yield from ("", f"Full reference: `parpass.errors.{name}`.", "")
        if name in CASES:
            yield from ("::", "", indented(CASES[name]), "", "prints::", "")
            yield from (indented(message_of(name)), "")


def message_of(name: str) -> str:
    """Return the last lines of what Python prints when the case of an error is run.

    Raises:
        AssertionError: The case raises another, or nothing.
    """
    raised: BaseException | None = None
    try:
        exec(CASES[name], {"__name__": "example"})
    except Exception as error:  # noqa: BLE001 -- it is what is looked for
        raised = error
    assert raised is not None, f"the case of {name} raises nothing"
    assert type(raised).__name__ == name, f"the case of {name} raises {raised!r}"
    return "\n".join(
        line.rstrip()
        for paragraph in f"{name}: {raised}".splitlines()
        for line in (textwrap.wrap(paragraph, 88, drop_whitespace=False) or [""])
    )


def _options() -> Iterator[str]:
    yield from title("Options and environment variables", "=")
    yield from title("Options of a context", "-")
    yield (
        "Set by ``PassContext(config={KEY: VALUE})``, on the command line by "
        "``--config KEY=VALUE``."
    )
    yield ""
    for option in config_options():
        yield from (
            f".. confval:: {option.key}",
            f"   :type: {option_kind(option)}",
            "",
        )
        yield from (f"   {_as_rst(option_meaning(option))}", "")
    yield from title("Environment variables", "-")
    for name, meaning in ENVIRONMENT.items():
        yield from (f".. envvar:: {name}", "", f"   {_as_rst(meaning)}", "")


def _fields(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f":{name}: {text}" for name, text in rows)
    yield ""


def _as_rst(text: str) -> str:
    """Return a docstring as reStructuredText: sections of Google's as paragraphs."""
    text = re.sub(r"(?m)^(Args|Attributes|Raises|Returns):$", r"\1:\n", text)
    return separated(text)
