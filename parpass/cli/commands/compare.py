"""`parpass compare`: compare the numbers of two profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from parpass.cli.options import shared
from parpass.cli.options.structs import (
    command,
    option_struct,
    running,
    showing,
    writing,
)

if TYPE_CHECKING:
    from parpass.report.profile import Profile


@option_struct
class CompareOptions:
    before: Path = shared.program("BEFORE")
    after: Path = shared.program("AFTER")
    as_json: bool = showing("--json", is_flag=True, help="Show everything, as JSON.")
    limit: int = showing(
        "--limit",
        metavar="N",
        type=click.IntRange(min=1),
        default=20,
        show_default=True,
        help="Show at most N rows of each table.",
    )
    report: str | None = writing(
        "--report", metavar="OUT", help="Write a page of HTML, with everything, too."
    )
    fail_above: float | None = running(
        "--fail-above",
        metavar="PERCENT",
        type=click.FloatRange(min=0),
        help="Exit with 1 if the run or a pass became slower by more than this "
        "percentage and the noise does not explain it.",
    )


@command(
    CompareOptions,
    epilog="Exit codes: 0 ok, 1 something became slower by more than --fail-above, 2 "
    "the command or an input is wrong, 130 interrupted.",
)
def compare(given: CompareOptions) -> None:
    """Compare two profiles: what became slower?

    BEFORE and AFTER are files that --profile of 'parpass opt' or 'parpass build' wrote;
    one of them may be -. Times and memory of repeated runs are compared by their
    medians, and changes within the noise are marked. The largest changes come first.

    \b
    Example:
      parpass opt model.onnx -O3 --profile before.json --repeat 9 -o out.relay
      parpass compare before.json after.json --fail-above 10 --report page.html
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.writing import check_outputs, write_text
    from parpass.cli.output.comparison_tables import (
        print_comparison,
        print_comparison_json,
    )
    from parpass.cli.output.failure import InputError
    from parpass.errors import ArgumentError
    from parpass.report.comparison import compare_profiles
    from parpass.report.figures import time_text

    before, after, fail_above = given.before, given.after, given.fail_above
    shared.check_standard_input((before, after))
    check_outputs({"--report": given.report})
    profiles = _read(before), _read(after)
    try:
        found = compare_profiles(*profiles, (str(before), str(after)))
    except ArgumentError as error:
        raise InputError(error) from None
    if given.report is not None:
        from parpass.report.html.comparison_page import comparison_page

        write_text(comparison_page(found, str(before), str(after)), given.report)
    if given.as_json:
        print_comparison_json(found)
    else:
        print_comparison(found, given.limit)
    slower = [] if fail_above is None else found.slower_than(fail_above)
    for one in slower:
        percent = "" if one.percent is None else f" ({one.percent:+.1f}%)"
        what = "the run" if one is found.run else f"pass '{one.name}'"
        text = f"{what} became slower by {time_text(one.difference)}{percent}"
        click.echo(f"Error: {text}; the limit is --fail-above={fail_above:g}", err=True)
    click.get_current_context().exit(1 if slower else 0)


def _read(path: Path) -> Profile:
    from parpass.cli.files.reading import read_bytes
    from parpass.cli.output.failure import InputError
    from parpass.errors import ArgumentError
    from parpass.report.profile import decoded_profile

    try:
        return decoded_profile(read_bytes(path), str(path))
    except ArgumentError as error:
        raise InputError(error) from None
