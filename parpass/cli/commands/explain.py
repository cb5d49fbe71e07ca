"""`parpass explain`: explain a pass, an option, an error or a variable."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from parpass.cli.options import completion, shared
from parpass.cli.options.structs import argument, command, option_struct, running


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


@option_struct
class ExplainOptions:
    topic: str = argument(metavar="TOPIC", shell_complete=_offered)
    loaded: Sequence[str] = shared.load()
    ir: str | None = running(
        "--ir",
        metavar="NAME",
        shell_complete=completion.irs,
        help="Also explain the passes of this installed IR.",
    )


@command(
    ExplainOptions,
    context_settings={"ignore_unknown_options": True},  # they are topics
    epilog="Exit codes: 0 ok, 2 there is no such topic, 130 interrupted.",
)
def explain(given: ExplainOptions) -> None:
    """Explain a pass, option, error or environment variable.

    Works offline. Case does not matter.

    \b
    Example:
      parpass explain FoldConstant
      parpass explain parpass.on_failure
      parpass explain --isolate
      parpass explain WorkerDiedError
      parpass explain canonicalize --ir mlir
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.commands.topics import UnknownTopicError, explain
    from parpass.cli.files.irs import load_irs

    load_irs(given.ir, [])
    try:
        click.echo(explain(given.topic), nl=False)
    except UnknownTopicError as error:
        raise click.BadParameter(str(error), param_hint="'TOPIC'") from None
