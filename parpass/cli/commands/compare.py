"""`parpass compare`: compare the numbers of two profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.commands import options
from parpass.cli.commands.option_syntax import Command

if TYPE_CHECKING:
    from parpass.runner.report.profile import Profile

_file: Any = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 1 something became slower than --fail-above allows, "
    "2 the command or an input is wrong, 130 interrupted.",
)
@click.argument("before", metavar="BEFORE", type=_file)
@click.argument("after", metavar="AFTER", type=_file)
@options.showing(
    "--json", "as_json", is_flag=True, help="Show JSON instead, with everything."
)
@options.showing(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Show N rows of each table at the most.",
)
@options.running(
    "--fail-above",
    metavar="PERCENT",
    type=click.FloatRange(min=0),
    help="Exit with 1 if the run, or a pass, became slower by more than so much, and "
    "that is not within the noise.",
)
def compare(
    *,
    before: Path,
    after: Path,
    as_json: bool,
    limit: int,
    fail_above: float | None,
) -> None:
    """Compare the numbers of two profiles.

    BEFORE and AFTER are files that --profile of parpass opt or build writes; one of
    them may be -. Times, and memory, of repeated runs are compared by their medians,
    and a change that may be due to the noise of the runs is said to be so. The largest
    changes come first.

    \b
    Example:
      parpass opt model.onnx -O3 --profile before.json --repeat 9 -o out.relay
      parpass compare before.json after.json --fail-above 10
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.output.comparison_tables import (
        print_comparison,
        print_comparison_json,
    )
    from parpass.cli.output.failure import InputError
    from parpass.errors import ArgumentError
    from parpass.runner.report.comparison import compare_profiles
    from parpass.runner.report.figures import time_text

    options.check_standard_input((before, after))
    profiles = _read(before), _read(after)
    try:
        found = compare_profiles(*profiles, (str(before), str(after)))
    except ArgumentError as error:
        raise InputError(error) from None
    if as_json:
        print_comparison_json(found)
    else:
        print_comparison(found, limit)
    slower = [] if fail_above is None else found.slower_than(fail_above)
    for one in slower:
        percent = "" if one.percent is None else f" ({one.percent:+.1f}%)"
        what = "the run" if one is found.run else f"pass '{one.name}'"
        text = f"{what} became slower by {time_text(one.difference)}{percent}"
        click.echo(f"Error: {text}; --fail-above={fail_above:g} allows less", err=True)
    click.get_current_context().exit(1 if slower else 0)


def _read(path: Path) -> Profile:
    from parpass.cli.output.failure import InputError
    from parpass.errors import ArgumentError
    from parpass.runner.report.profile import decoded_profile

    try:
        with click.open_file(str(path), "rb") as file:
            content = file.read()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from None
    try:
        return decoded_profile(content, str(path))
    except ArgumentError as error:
        raise InputError(error) from None
