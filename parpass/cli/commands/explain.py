"""`parpass explain`: what a pass, an option, an error or a variable is."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from parpass.cli.commands import completion, options
from parpass.cli.commands.option_syntax import Command


def _offered(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from parpass.cli.commands.topics import topics

    folded = incomplete.lower()
    return [
        CompletionItem(name)
        for name in sorted(topics())
        if name.lower().startswith(folded)
    ]


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 2 there is no such topic, 130 interrupted.",
)
@click.argument("topic", metavar="TOPIC", shell_complete=_offered)
@options.load_plugin
@options.running(
    "--ir",
    metavar="NAME",
    shell_complete=completion.irs,
    help="An installed IR whose passes are topics, too.",
)
def explain(*, topic: str, ir: str | None) -> None:
    """Say what a pass, an option, an error or an environment variable is.

    It needs no network. Case does not matter.

    \b
    Example:
      parpass explain FoldConstant
      parpass explain parpass.on_failure
      parpass explain WorkerDiedError
      parpass explain canonicalize --ir mlir
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.commands.topics import UnknownTopicError, explain
    from parpass.cli.files.irs import load_irs

    load_irs(ir, [])
    try:
        click.echo(explain(topic), nl=False)
    except UnknownTopicError as error:
        raise click.BadParameter(str(error), param_hint="'TOPIC'") from None
