"""`parpass diff`: compare two programs by their structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.options import shared
from parpass.cli.options.shared import ModelInputOptions
from parpass.cli.options.structs import command, group, option_struct, showing

if TYPE_CHECKING:
    from parpass.transform import ModuleAdapter


@option_struct
class DiffOptions:
    left: Path = shared.program("LEFT")
    right: Path = shared.program("RIGHT")
    model: ModelInputOptions = group(ModelInputOptions)
    ir: str | None = shared.ir()
    loaded: Sequence[str] = shared.load()
    quiet: bool = showing(
        "-q", "--quiet", is_flag=True, help="Show nothing; only set the exit code."
    )


@command(
    DiffOptions,
    epilog="Exit codes: 0 equal, 1 different, 2 the command or an input is wrong, 130 "
    "interrupted.",
)
def diff(given: DiffOptions) -> None:
    """Compare two programs by their structure.

    Names of bound variables, spans and the layout of the text do not count. The output
    lists functions that only one program has. Of each other function it says where it
    begins to differ, and shows a diff, in which what is the same has its name in LEFT.

    LEFT and RIGHT are what 'parpass opt' reads; one of them may be -.

    \b
    Example:
      parpass diff before.relay after.relay
      parpass opt before.relay -p FoldConstant | parpass diff - after.relay
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.reading import read_module
    from parpass.transform import adapter_of

    left, right = given.left, given.right
    shared.check_standard_input((left, right))
    one, other = (
        read_module(at, ir=given.ir, model=given.model.by_name) for at in (left, right)
    )
    adapter = adapter_of(one, "diff")
    if not adapter.is_module(other):
        raise click.UsageError(f"'{left}' and '{right}' are of different IRs")
    found = list(_differences(adapter, one, other, str(left), str(right)))
    if not given.quiet:
        count = len(adapter.functions(one))
        functions = "1 function" if count == 1 else f"{count:,} functions"
        click.echo("\n".join(found) if found else f"equal: {functions}")
    click.get_current_context().exit(1 if found else 0)


def _differences(
    adapter: ModuleAdapter, one: Any, other: Any, left: str, right: str
) -> Iterator[str]:
    from parpass.transform.capture.structural_diff import structural_diff

    mine, theirs = adapter.functions(one), adapter.functions(other)
    for name in mine:
        if name not in theirs:
            yield f"function '{name}' is only in {left}"
        elif (found := adapter.difference(mine[name], theirs[name])) is not None:
            before = adapter.function_text(name, mine[name], one)
            after = adapter.function_text(name, theirs[name], other)
            yield f"function '{name}': {found}\n{structural_diff(before, after)}"
    yield from (
        f"function '{name}' is only in {right}" for name in theirs if name not in mine
    )
    if (besides := _besides(adapter, one, other)) is not None:
        yield besides


def _besides(adapter: ModuleAdapter, one: Any, other: Any) -> str | None:
    """Return the difference of what two modules have besides functions."""
    from parpass.ir.module import IRModule
    from parpass.ir.structural import structural_difference
    from parpass.transform.program_format import first_difference

    shells = [adapter.with_functions(mod, {}) for mod in (one, other)]
    if isinstance(one, IRModule):
        return structural_difference(*shells)
    return first_difference(*map(adapter.programs(one).astext, shells))
