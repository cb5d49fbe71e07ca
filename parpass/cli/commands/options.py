"""Options that several commands have, and the sections of the help texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.commands import completion
from parpass.cli.commands.command import Option
from parpass.cli.showing.failure import InputError

running = functools.partial(click.option, cls=Option, section="What to run")
writing = functools.partial(click.option, cls=Option, section="What to write")
showing = functools.partial(
    click.option, cls=Option, section="What to show on standard error"
)


def program(name: str, metavar: str) -> Any:
    """Return the argument for a program that is read, or - for standard input."""
    return click.argument(
        name,
        metavar=metavar,
        type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    )


PROGRAM: Any = program("file", "INPUT")

PASSES_HELP = (
    "The passes, separated by commas; options in braces, separated by blanks: "
    "'DeadCodeElimination{inline-once=true}'; passes in passes as "
    "'sequential{name=clean}(...)'."
)

level: Any = running(
    "-O",
    "level",
    metavar="LEVEL",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Run the passes of this optimization level and below: -O0 to -O3.",
)
config: Any = running(
    "--config",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completion.config_keys,
    help="Set an option of the context; may be given again. See --list-configs.",
)
jobs: Any = running(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(min=0),
    show_default="every core",
    help="How many processes at most; 0 stays in one.",
)
dask: Any = running(
    "--dask",
    metavar="ADDRESS",
    help="Have the workers of a Dask cluster run function passes: the address of its "
    "scheduler, as in tcp://HOST:8786.",
)
isolate: Any = running(
    "--isolate",
    is_flag=True,
    help="Run every function pass in a worker, small ones too, so that a crash names "
    "its pass and function.",
)
traceback: Any = showing(
    "--traceback",
    is_flag=True,
    help="Show where a failing pass failed.",
)


# Before click 8.4 the class takes no arguments.
class ByteSize(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A number of bytes, such as `4096`, `512M` or `1.5G`; units are powers of 1024."""

    name = "bytes"
    _form = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number."""
        found = self._form.fullmatch(str(value).strip())
        unit = ((found and found[2]) or "").upper()
        size = int(float(found[1]) * 1024 ** " KMGT".find(unit or " ")) if found else 0
        if size <= 0:
            self.fail(f"expected bytes such as 4096, 512M or 2G, got '{value}'")
        return size


function_timeout: Any = running(
    "--function-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="How long a pass may take on one function; its worker is ended then.",
)
memory_limit: Any = running(
    "--memory-limit",
    metavar="BYTES",
    type=ByteSize(),
    help="How much memory a pass may take on one function, such as 512M or 2G.",
)
on_failure: Any = running(
    "--on-failure",
    type=click.Choice(["fail", "skip", "retry"]),
    help="When a pass fails on a function, or takes more than these limits: end the "
    "run, leave the function as it was with a warning, or try once more.  [default: "
    "fail]",
)


LOADED = "parpass.cli.loaded"  # where a command finds what was given for --load


def _load(ctx: click.Context, _param: click.Parameter, names: Sequence[str]) -> None:
    ctx.meta[LOADED] = names
    if not names:
        return
    from parpass.cli.files.loading import load
    from parpass.errors import ReproducerError

    for name in names:
        try:
            load(name)
        except ReproducerError as error:
            raise InputError(str(error)) from None


# It comes before options that list passes.
load: Any = running(
    "--load",
    metavar="MODULE",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="Import a module that registers passes, or an IR, or run a file, PASSES.py; "
    "may be given again.",
)
ir: Any = running(
    "--ir",
    metavar="NAME",
    shell_complete=completion.irs,
    help="The IR that the input is in, one that an adapter registers; by default its "
    "suffix tells.",
)


class InputShape(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """The shape of an input, `NAME:1,3,224,224`; `?` is a dimension of any length."""

    name = "shape"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[Any, ...]]:
        """Return the name, and the dimensions."""
        name, _, text = str(value).rpartition(":")
        sizes = [one.strip() for one in text.strip("[]()").split(",") if one.strip()]
        if not name or not all(one == "?" or one.isdecimal() for one in sizes):
            self.fail(f"expected NAME:1,3,224,224, with ? for any size, got '{value}'")
        from parpass.relay import Any as UnknownDim

        return name, tuple(UnknownDim() if one == "?" else int(one) for one in sizes)


shape: Any = running(
    "--shape",
    "shapes",
    metavar="NAME:1,3,...",
    type=InputShape(),
    multiple=True,
    help="The shape of an input of an ONNX model, ? for a dimension of any length; may "
    "be given again.",
)
