"""Options that several subcommands share: fields of their structs, and groups."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.files.reading import ModelOptions
from parpass.cli.options import completion
from parpass.cli.options.kinds import (
    ByteSize,
    ExecutorURL,
    InputShape,
    Length,
    NamedValue,
)
from parpass.cli.options.structs import (
    argument,
    group,
    option_struct,
    running,
    showing,
    writing,
)
from parpass.cli.options.written import JOBS
from parpass.cli.output.failure import InputError
from parpass.limits import LIMITS, Limit


def program(metavar: str = "INPUT", **attrs: Any) -> Any:
    """Declare an argument for an input file, or - for standard input."""
    return argument(
        metavar=metavar,
        type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
        **attrs,
    )


def reproducer() -> Any:
    return argument(type=click.Path(exists=True, dir_okay=False, path_type=Path))


def check_standard_input(paths: Sequence[Path]) -> None:
    """Check that `-` occurs at most once: standard input can be read only once."""
    if paths.count(Path("-")) > 1:
        raise click.UsageError("expected '-' at most once: standard input is read once")


def passes(*, required: bool = False, more_help: str = "") -> Any:
    return running(
        "-p",
        "--passes",
        "--pass-pipeline",
        metavar="PASSES",
        required=required,
        shell_complete=completion.pipelines,
        help="Comma-separated passes to run. Options go in braces, separated by "
        "spaces: 'DeadCodeElimination{inline-once=true}'. Passes nest in parentheses: "
        f"'sequential{{name=clean}}(...)'.{more_help}",
    )


def config() -> Any:
    return running(
        "--config",
        metavar="KEY=VALUE",
        multiple=True,
        shell_complete=completion.config_keys,
        help="Set a context option; repeatable. See --list-configs.",
    )


def level(
    default: int = 2,
    text: str = "Optimization level, -O0 to -O4. Passes of a higher level are skipped.",
) -> Any:
    return running(
        "-O",
        metavar="LEVEL",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        help=text,
    )


def ir() -> Any:
    return running(
        "--ir",
        metavar="NAME",
        shell_complete=completion.irs,
        help="IR of the input, as registered by an adapter. By default the file "
        "suffix decides.",
    )


def written(*flags: str, may_be_shown: bool = False, **attrs: Any) -> Any:
    """Declare an option for an output file; `-` may show the output instead."""
    kind = click.Path(dir_okay=False, writable=True, allow_dash=may_be_shown)
    return writing(*flags, type=kind, **attrs)


def output(text: str, *, may_be_shown: bool = False, required: bool = False) -> Any:
    default = {"default": "-", "show_default": True} if may_be_shown else {}
    return written(
        *("-o", "--output"),
        metavar="OUT",
        may_be_shown=may_be_shown,
        required=required,
        help=text,
        **default,
    )


def numbers(flag: str, text: str) -> Any:
    """Declare an option that shows figures of passes as a table, JSON or CSV."""
    return showing(
        flag,
        metavar="[=FORMAT]",
        multiple=True,
        type=click.Choice(["", "text", "json", "csv"]),
        help=text,
    )


def jobs() -> Any:
    return running(
        *JOBS,
        metavar="N",
        type=click.IntRange(min=0),
        show_default="every core",
        help="Maximum number of processes; 0 runs everything in this one.",
    )


def dask() -> Any:
    return running(
        "--dask",
        metavar="ADDRESS",
        help="Run function passes on a Dask cluster, given the address of its "
        "scheduler, such as tcp://HOST:8786.",
    )


def isolate() -> Any:
    return running(
        "--isolate",
        is_flag=True,
        help="Run every function pass in a worker, even small ones, so that a crash "
        "names its pass and function.",
    )


def traceback() -> Any:
    return showing(
        "--traceback", is_flag=True, help="Show the full traceback of a failing pass."
    )


def explain_speed() -> Any:
    return showing(
        "--explain-speed",
        is_flag=True,
        help="Show where the time went, what the workers did, and how to make the run "
        "faster.",
    )


def _load(
    _ctx: click.Context, _param: click.Parameter, names: Sequence[str]
) -> Sequence[str]:
    if names:
        from parpass.cli.files.irs import load_plugin
        from parpass.errors import ReproducerError

        for name in names:
            try:
                load_plugin(name)
            except ReproducerError as error:
                raise InputError(error) from None
    return names


def load() -> Any:
    """Declare the option for modules to import before other options are parsed."""
    return running(
        "--load",
        metavar="MODULE",
        multiple=True,
        is_eager=True,
        callback=_load,
        help="Import a module, or run a file such as PASSES.py, that registers passes "
        "or an IR; repeatable.",
    )


@option_struct
class WorkerOptions:
    jobs: int | None = jobs()
    executor: str | None = running(
        "--executor",
        metavar="URL",
        type=ExecutorURL(),
        help="Run function passes on this executor instead of local processes, such "
        "as SCHEME://HOST:PORT.",
    )

    def check(self, *, dask: str | None = None, isolate: bool = False) -> None:
        """Check that only one option says where jobs run, and -j0 is not isolated."""
        if self.executor is not None and dask is not None:
            raise click.UsageError("expected one of --executor and --dask, got both")
        if self.jobs is not None and (self.executor is not None or dask is not None):
            raise click.BadParameter(
                "the executor decides how many jobs run at once; drop -j",
                param_hint="'--executor'" if dask is None else "'--dask'",
            )
        if isolate and self.jobs == 0:
            raise click.BadParameter(
                "an isolated run needs workers, and -j0 starts none; drop one of the "
                "two",
                param_hint="'--isolate'",
            )


class LimitOptions:
    """The limits of a pass on one function; each is an option of the context."""

    def settings(self) -> Mapping[str, Any]:
        """Return the limits by their names; None for those not given."""
        return {one.name: getattr(self, one.name) for one in LIMITS}


def limit_flags() -> Any:
    """Declare the flags of the limits, as a field of `LimitOptions`."""
    return group(_LIMIT_FLAGS)


def _flag(limit: Limit) -> Any:
    is_time = limit.unit == "seconds"
    return running(
        limit.flag,
        metavar=limit.unit.upper(),
        type=click.FloatRange(min=0, min_open=True) if is_time else ByteSize(),
        help=limit.flag_help,
    )


_LIMIT_FLAGS = dataclasses.make_dataclass(
    "_LIMIT_FLAGS",
    [(one.name, Any, _flag(one)) for one in LIMITS],
    bases=(LimitOptions,),
    kw_only=True,
    frozen=True,
)


def _may_be_cache(path: str) -> bool:
    """Return whether a path is a cache, an empty folder, or does not exist.

    Other files and folders are inputs of the command.
    """
    from parpass.object_table import file_of

    try:
        return not os.listdir(path) or file_of(Path(path)).exists()
    except OSError:
        return not os.path.exists(path)


@option_struct
class CacheOptions:
    cache: str | None = running(
        "--cache",
        metavar="[=DIR]",
        takes_next=_may_be_cache,
        help="Cache the results of passes by function, and rerun passes only on "
        "functions that changed. The cache is in DIR, or in the folder that 'parpass "
        "cache' shows.",
    )
    cache_from: Sequence[str] = running(
        "--cache-from",
        metavar="DIR_OR_URL",
        multiple=True,
        help="Look up missing results in another cache, a folder or a server, without "
        "writing to it. Repeatable; caches are tried in order.",
    )
    cache_to: Sequence[str] = running(
        "--cache-to",
        metavar="URL",
        multiple=True,
        help="Look up missing results on a server, and upload new ones to it; "
        "repeatable.",
    )
    verify_cache: float | None = running(
        "--verify-cache",
        metavar="SHARE",
        type=click.FloatRange(min=0, max=1),
        help="Run passes again on this share of the cached results, such as 0.01, and "
        "compare. A result that differs is dropped, and its pass named.",
    )

    @property
    def is_cached(self) -> bool:
        return self.cache is not None or bool(self.cache_from or self.cache_to)

    def check(self) -> None:
        """Check that `--verify-cache` is given with a cache."""
        if self.verify_cache is not None and not self.is_cached:
            raise click.BadParameter(
                "there is no cache to verify; add --cache",
                param_hint="'--verify-cache'",
            )


@option_struct
class ModelInputOptions:
    shapes: Sequence[tuple[str, Sequence[Any]]] = running(
        "--shape",
        metavar="NAME:1,3,...",
        type=InputShape(),
        multiple=True,
        help="Shape of an input of an ONNX model; ? stands for any length. Repeatable.",
    )
    dims: Sequence[tuple[str, int]] = running(
        "--dim",
        metavar="NAME=LENGTH",
        type=Length(),
        multiple=True,
        help="Length of a named dimension that an ONNX model leaves open; '*=1' sets "
        "all remaining ones. Repeatable.",
    )
    constants: Sequence[tuple[str, Any]] = running(
        "--const",
        metavar="NAME=VALUE",
        type=NamedValue(),
        multiple=True,
        help="Fix an input of an ONNX model to a value: a .npy file, or a number or "
        "nested list as JSON. Repeatable.",
    )

    @property
    def by_name(self) -> ModelOptions:
        return ModelOptions(dict(self.shapes), dict(self.dims), dict(self.constants))
