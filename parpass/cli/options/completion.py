"""Shell completion of names of passes and keys of options.

It uses click's completion: `eval "$(_PARPASS_COMPLETE=bash_source parpass)"`.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def one_pass(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return _items("", incomplete, _passes())


def names_of_passes(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer passes for the last of several comma-separated names."""
    before, comma, last = incomplete.rpartition(",")
    return _items(before + comma, last, _passes())


def pipelines(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer passes at the end of a pipeline; in braces, the options of a pass."""
    at = max(incomplete.rfind(one) for one in ",({ ") + 1
    before, last = incomplete[:at], incomplete[at:]
    pass_name = _open_braces(before)
    if pass_name is None:
        return _items(before, last, _passes())
    return _items(before, last, _options_of(pass_name))


def config_keys(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from parpass.cli.options.listing import config_options

    keys = {f"{option.key}=": option.doc for option in config_options()}
    return _items("", incomplete, keys.items())


def irs(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from parpass.cli.files.irs import known_irs

    return _items("", incomplete, ((name, "") for name in known_irs()))


def _items(
    before: str, begin: str, offered: Iterable[tuple[str, str]]
) -> list[CompletionItem]:
    return [
        CompletionItem(before + name, help=told or None)
        for name, told in offered
        if name.startswith(begin)
    ]


def _passes() -> Iterable[tuple[str, str]]:
    from parpass.cli.options.listing import described_passes

    return described_passes()


def _open_braces(text: str) -> str | None:
    """Return the pass whose braces are open at the end of a text, or None."""
    before, brace, inside = text.rpartition("{")
    if not brace or "}" in inside:
        return None
    return before[max(before.rfind(one) for one in ",( ") + 1 :]


def _options_of(pass_name: str) -> Iterable[tuple[str, str]]:
    from parpass.cli.options.listing import pass_options

    return ((f"{option.name}=", option.kind_text) for option in pass_options(pass_name))
