"""`parpass kernels`: from a node of a network to its kernels, and back."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import click

from parpass.cli.files.reading import read_bytes
from parpass.cli.options.structs import argument, command, option, option_struct
from parpass.cli.output.failure import InputError
from parpass.cli.output.kernel_chains import code_text, outline, shown_line
from parpass.errors.core import did_you_mean

_FORMAT = 2
_MOST_LOOPS = 20  # of an outline

_choosing = functools.partial(option, section="Selection")


@option_struct
class KernelsOptions:
    file: Path = argument(
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    )
    node: str | None = _choosing(
        "--node",
        metavar="NODE",
        help="Show the kernels that compute a node, given by the name of an ONNX node "
        "or of one of its results.",
    )
    line: int | None = _choosing(
        "--line",
        metavar="LINE",
        type=click.IntRange(min=1),
        help="Show the kernels that compute a source line: a line of the program's "
        "text, or a position in an ONNX model's list of nodes.",
    )
    kernel: str | None = _choosing(
        "--kernel",
        metavar="NAME",
        help="Show where a kernel comes from, given by the name of its function or "
        "its symbol in the library.",
    )
    text: bool = _choosing(
        "--text",
        is_flag=True,
        help="Show the kernels' loops as text instead of in outline.",
    )


@command(
    KernelsOptions,
    epilog="Exit codes: 0 ok, 2 the command or the file is wrong, or there is no such "
    "name, 130 interrupted.",
)
def kernels(given: KernelsOptions) -> None:
    """Show which kernels a node became, and where a kernel comes from.

    FILE is a map that 'parpass build --emit-map' wrote. Without options, the
    command lists all kernels, largest first.

    \b
    Example:
      parpass build model.onnx -o net.so --emit-map net.json
      parpass kernels net.json --node conv1
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    node, line, kernel, text = given.node, given.line, given.kernel, given.text
    if sum(one is not None for one in (node, line, kernel)) > 1:
        raise click.UsageError("expected only one of --node, --line and --kernel")
    if text and node is line is kernel is None:
        raise click.UsageError("--text needs --node, --line or --kernel")
    said = _read(given.file)
    if node is not None:
        shown = _lines(said, _places_of_node(said, node), as_text=text)
    elif line is not None:
        shown = _lines(said, _places_of_line(said, line), as_text=text)
    elif kernel is not None:
        shown = _sources(said, _kernel(said, kernel), as_text=text)
    else:
        by_size = sorted(said["kernels"], key=lambda one: -(one["size"] or 0))
        shown = (_title(one) for one in by_size)
    click.echo("\n".join(shown))


def _read(file: Path) -> dict[str, Any]:
    wrong = f"'{file}' is not a map written by 'parpass build --emit-map'"
    try:
        said: Any = json.loads(read_bytes(file))
    except (ValueError, RecursionError):
        raise InputError(wrong) from None
    if not isinstance(said, dict) or not {"kernels", "sources"} <= said.keys():
        raise InputError(wrong)
    found = cast("dict[str, Any]", said)
    if found.get("format") != _FORMAT:
        got = found.get("format")
        raise InputError(
            f"'{file}' is a map of format {got}, expected {_FORMAT}; build it again"
        )
    return found


_Place = tuple[str, int]  # the source, and the line in it, from 1 on


def _places_of_node(said: dict[str, Any], wanted: str) -> list[_Place]:
    names: dict[str, list[_Place]] = {}
    for source, lines in said["sources"].items():
        for number, text in enumerate(lines, 1):
            for name in _names(text):
                names.setdefault(name, []).append((source, number))
    if wanted not in names:
        raise _unknown(wanted, "--node", "node", names)
    return names[wanted]


def _names(line: str) -> Iterator[str]:
    """Yield the names that a line defines: those of an ONNX node and of results."""
    before, mark, name = line.partition("  # ")
    if mark:
        yield name
    results, is_one, _ = before.partition(" = ")
    if is_one:
        yield from (one.strip().removeprefix("%") for one in results.split(","))


def _places_of_line(said: dict[str, Any], wanted: int) -> list[_Place]:
    sources = said["sources"]
    longest = max(map(len, sources.values()), default=0)
    if wanted > longest:
        raise click.BadParameter(
            f"expected a line of the source, 1 to {longest}, got {wanted}",
            param_hint="'--line'",
        )
    return [(one, wanted) for one, lines in sources.items() if wanted <= len(lines)]


def _kernel(said: dict[str, Any], wanted: str) -> dict[str, Any]:
    found = said["kernels"]
    for one in found:
        if wanted in (one["function"], one["symbol"]):
            return one
    raise _unknown(wanted, "--kernel", "kernel", [one["function"] for one in found])


def _unknown(
    wanted: str, option: str, what: str, names: Iterable[str]
) -> click.BadParameter:
    message = f"no {what} named '{wanted}'{did_you_mean(wanted, names)}"
    return click.BadParameter(message, param_hint=f"'{option}'")


def _lines(
    said: dict[str, Any], places: list[_Place], *, as_text: bool
) -> Iterator[str]:
    for place in places:
        yield ": ".join(shown_line(said, *place))
        found = list(_kernels_at(said, place, as_text=as_text))
        yield from found or ["  no kernel: folded or not needed"]


def _kernels_at(said: dict[str, Any], place: _Place, *, as_text: bool) -> Iterator[str]:
    for kernel in said["kernels"]:
        for call in kernel["calls"]:
            here = [
                one["operator"]
                for one in call["operators"]
                if one["span"] and (one["span"]["source"], one["span"]["line"]) == place
            ]
            if here:
                yield f"  {', '.join(here)}: call {call['call']} of {_title(kernel)}"
                yield from _loops(kernel, "    ", as_text=as_text)


def _sources(
    said: dict[str, Any], kernel: dict[str, Any], *, as_text: bool
) -> Iterator[str]:
    yield _title(kernel)
    yield from _loops(kernel, "  ", as_text=as_text)
    for call in kernel["calls"]:
        yield f"  call {call['call']}"
        for one in call["operators"]:
            span = one["span"]
            where = "made by a pass"
            if span is not None:
                where = ": ".join(shown_line(said, span["source"], span["line"]))
            yield f"    {one['operator']}: {where}"


def _title(kernel: dict[str, Any]) -> str:
    return f"{kernel['function']}: {code_text(kernel)}"


def _loops(kernel: dict[str, Any], indent: str, *, as_text: bool) -> Iterator[str]:
    """Yield the loops of a kernel: their text, or the beginning of their outline."""
    if as_text and kernel["text"] is not None:
        yield from (f"{indent}{line}" for line in kernel["text"].splitlines())
        return
    lines = list(outline(kernel))
    yield from (f"{indent}{line}" for line in lines[:_MOST_LOOPS])
    if len(lines) > _MOST_LOOPS:
        yield f"{indent}and {len(lines) - _MOST_LOOPS} more loops; --text shows all"
