"""Options that several commands share, and the sections of the help texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.commands import completion
from parpass.cli.commands.option_syntax import Option
from parpass.cli.output.failure import InputError

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


def check_standard_input(paths: Sequence[Path]) -> None:
    """Check that standard input, which can be read once, is named once at most.

    Raises:
        click.UsageError: It is named more than once.
    """
    if paths.count(Path("-")) > 1:
        raise click.UsageError("expected '-' at most once: standard input is read once")


PROGRAM: Any = program("file", "INPUT")

REPRODUCER: Any = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)

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
    help="The optimization level, -O0 to -O4: passes of a higher one do not run.",
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


class ExecutorURL(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """Names an executor, `SCHEME://...`."""

    name = "url"
    _form = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*")

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return it as it is."""
        if not self._form.fullmatch(str(value)):
            self.fail(f"expected SCHEME://..., got '{value}'")
        return str(value)


executor: Any = running(
    "--executor",
    metavar="URL",
    type=ExecutorURL(),
    help="Where function passes run instead of processes of this machine, as in "
    "SCHEME://HOST:PORT.",
)
dask: Any = running(
    "--dask",
    metavar="ADDRESS",
    help="Have the workers of a Dask cluster run function passes: the address of its "
    "scheduler, as in tcp://HOST:8786.",
)


def check_executor(
    jobs: int | None, executor: str | None, dask: str | None = None
) -> None:
    """Check that where jobs run is said once.

    Raises:
        click.UsageError: It is said twice, or how many there are is given beside it.
    """
    if executor is not None and dask is not None:
        raise click.UsageError("expected one of --executor and --dask, got both")
    if jobs is not None and (executor is not None or dask is not None):
        raise click.BadParameter(
            "how many jobs run at once is the executor's to say: leave out -j",
            param_hint="'--executor'" if dask is None else "'--dask'",
        )


def check_isolated(jobs: int | None, *, isolate: bool) -> None:
    """Check that an isolated run may have workers.

    Raises:
        click.BadParameter: It may not.
    """
    if isolate and jobs == 0:
        raise click.BadParameter(
            "an isolated run has its passes in workers, and -j0 is for none",
            param_hint="'--isolate'",
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
    """A number of bytes, such as `4096`, `512M` or `1.5G`.

    Args:
        kilo: What the units are powers of: 1024, as of memory, or 1000, as of files.
    """

    name = "bytes"
    _form = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)

    def __init__(self, kilo: int = 1024) -> None:
        self._kilo = kilo

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number."""
        found = self._form.fullmatch(str(value).strip())
        unit = ((found and found[2]) or "").upper()
        scale = self._kilo ** " KMGT".find(unit or " ")
        size = round(float(found[1]) * scale) if found else 0
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


function_cache: Any = running(
    "--cache",
    metavar="[=DIR]",
    help="Keep what passes gave for each function, and run them only on those that "
    "changed: in the folder of parpass cache, or in DIR.",
)
lower_caches: Any = running(
    "--cache-from",
    metavar="DIR_OR_URL",
    multiple=True,
    help="Take what is not there from another cache, which is only read: its folder, "
    "or a server that has one. May be given several times: the first is asked first.",
)
writable_caches: Any = running(
    "--cache-to",
    metavar="URL",
    multiple=True,
    help="Take what is not there from a server, and put there what was run.",
)
verify_cache: Any = running(
    "--verify-cache",
    metavar="SHARE",
    type=click.FloatRange(min=0, max=1),
    help="Run passes on so large a share of what the cache has, such as 0.01, and "
    "compare. What differs names the pass, and is dropped.",
)


def is_cached(cache: str | None, lower: Sequence[str], writable: Sequence[str]) -> bool:
    """Return whether the options of a command name a function cache, or a layer."""
    return cache is not None or bool(lower or writable)


def check_cache(verify: float | None, *, is_cached: bool) -> None:
    """Check that there is a cache if it is to be verified.

    Raises:
        click.BadParameter: There is none.
    """
    if verify is not None and not is_cached:
        raise click.BadParameter(
            "there is no cache to verify; give --cache, too",
            param_hint="'--verify-cache'",
        )


LOADED = "parpass.cli.loaded"  # where a command finds what was given for --load


def _load(ctx: click.Context, _param: click.Parameter, names: Sequence[str]) -> None:
    ctx.meta[LOADED] = names
    if not names:
        return
    from parpass.cli.files.irs import load_plugin
    from parpass.errors import ReproducerError

    for name in names:
        try:
            load_plugin(name)
        except ReproducerError as error:
            raise InputError(error) from None


# It comes before options that list passes.
load_plugin: Any = running(
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
