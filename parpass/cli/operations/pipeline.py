"""From the command line to a pipeline and the settings that it runs under."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click
import msgspec

from parpass.cli.output.failure import InputError
from parpass.errors import ConfigError, PipelineSyntaxError, UnprintablePassError
from parpass.instrument import PassInstrument
from parpass.ir.dialect import load_dialects
from parpass.transform import (
    ModuleAdapter,
    PassContext,
    Sequential,
    list_config_options,
    parse_pipeline,
    print_pipeline,
)
from parpass.transform.context import MAX_SHIPPED_LEVEL
from parpass.transform.debug.bisect import Gate
from parpass.transform.passes import flat_passes


def read_pipeline(text: str, adapter: ModuleAdapter | None = None) -> Sequential:
    """Return the pipeline of `-p`; without an adapter it may be for any IR."""
    with contextlib.suppress(PipelineSyntaxError):
        # An IR of its own, or `--load`, has registered all of its passes by now.
        return parse_pipeline(text, adapter=adapter)
    load_dialects()  # registers the shipped ones
    try:
        return parse_pipeline(text, adapter=adapter)
    except PipelineSyntaxError as error:
        raise click.BadParameter(str(error), param_hint="'-p'") from None


def dump_pipeline(pipeline: Sequential) -> None:
    """Write a pipeline to standard error, as text for `-p`."""
    try:
        text = print_pipeline(pipeline, indent=2)
    except UnprintablePassError as error:
        raise InputError(error) from None
    click.echo(text, err=True)


def check_config(config: Sequence[str]) -> None:
    """Check the values of `--config` alone."""
    if config:
        import_module("parpass.relay")  # makes its options known
        make_context(Sequential([]), 0, config, (), {})


def make_context(
    pipeline: Sequential,
    level: int,
    config: Sequence[str],
    instruments: Sequence[PassInstrument],
    settings: Mapping[str, Any],
) -> PassContext:
    """Return the context for a run.

    `config` has the values of `--config`; `settings` are parpass's own options that
    have a flag, None for those not given.
    """
    highest = max(
        MAX_SHIPPED_LEVEL, *(one.info.opt_level for one in flat_passes(pipeline))
    )
    if level > highest:
        raise click.BadParameter(
            f"expected a level from 0 to {highest}, got {level}: no pass has a higher "
            "one",
            param_hint="'-O'",
        )
    import_module("parpass.runner.driver.session")  # makes its options known
    values = dict(_key_and_value(one) for one in config)
    given = {f"parpass.{k}": one for k, one in settings.items() if one is not None}
    try:
        context = PassContext(level, instruments=instruments, config=values | given)
        Gate.of(context)
    except ConfigError as error:
        option = error.key.removeprefix("parpass.")
        flag = f"--{option.replace('_', '-')}" if option in settings else "--config"
        raise click.BadParameter(str(error), param_hint=f"'{flag}'") from None
    return context


class RunContexts(NamedTuple):
    """The contexts of a run.

    Attributes:
        first: That of the run; it has the instruments.
        repetitions: Those of its repetitions, for a profile.
        serial: That of a serial run to compare with.
    """

    first: PassContext
    repetitions: Sequence[PassContext]
    serial: PassContext


def make_contexts(
    count: int,
    pipeline: Sequential,
    level: int,
    config: Sequence[str],
    instruments: Sequence[PassInstrument],
    settings: Mapping[str, Any],
) -> RunContexts:
    """Return the contexts of `count` runs; see `make_context`."""

    def made(of: Sequence[PassInstrument], given: Mapping[str, Any]) -> PassContext:
        return make_context(pipeline, level, config, of, given)

    return RunContexts(
        made(instruments, settings),
        [made((), settings) for _ in range(count - 1)],
        made((), {**settings, "isolated": None}),
    )


def _key_and_value(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    if not equals:
        raise click.BadParameter(
            f"expected KEY=VALUE, got '{setting}'", param_hint="'--config'"
        )
    option = list_config_options().get(key)
    if option is not None and option.kind is str:
        return key, text
    try:
        return key, msgspec.json.decode(text)
    except msgspec.DecodeError:
        return key, text  # its type will refuse it
