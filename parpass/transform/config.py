"""Configuration options: a registry of typed keys, checked when a context is made.

The core's own options are defined here, among them the optimizations of the runner,
each of which can be switched off. None of these has an effect on the result of a run:
if a parallel run differs from the serial run nevertheless, switching them off one by
one finds the one at fault.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

import msgspec

from parpass.errors import ConfigError, ConfigValueError
from parpass.errors.core import did_you_mean, quoted
from parpass.limits import LIMITS
from parpass.replicated_tables import ReplicatedTable


class ConfigOption(msgspec.Struct, frozen=True):
    """A registered option: its key, the type of its values, its documentation."""

    key: str
    kind: type
    doc: str = ""


_options: ReplicatedTable[str, ConfigOption] = ReplicatedTable("option")


def register_config_option(key: str, kind: type, doc: str = "") -> ConfigOption:
    """Register an option that contexts accept in `config`.

    Args:
        key: The key, such as `relay.FuseOps.max_depth`.
        kind: The type of its values: bool, int, float, str, list, dict, or, for an
            option with fields, a dataclass or `msgspec.Struct`. The value of the latter
            may be a dict.
        doc: Its documentation, a phrase.

    Raises:
        ConfigError: The key is registered already.
    """
    if _options.is_defined_here(key):
        raise ConfigError(f"option '{key}' is registered already", key=key)
    option = _options[key] = ConfigOption(key, kind, doc)
    return option


def list_config_options() -> Mapping[str, ConfigOption]:
    """Return the registered options, by key."""
    _options.load_missing(*_options.missing)
    return MappingProxyType(_options)


def checked_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with every value converted to its option's type.

    Raises:
        ConfigError: A key is unknown; the message lists the known ones.
        ConfigValueError: A value is None or cannot be converted.
    """
    return MappingProxyType(
        {key: _validated(key, value) for key, value in config.items()}
    )


def _validated(key: str, value: Any) -> Any:
    option = _options.find(key)
    if option is None:
        raise ConfigError(
            f"invalid config option '{key}'{did_you_mean(key, _options)}; "
            f"candidates are: {quoted(sorted(_options)) or 'none'}",
            key=key,
        )
    kind = option.kind
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    if value is None:
        raise ConfigValueError(
            f"invalid config value for '{key}': expected {kind.__name__}, got None",
            key=key,
        )
    try:
        return _convert(value, kind)
    except (TypeError, ValueError, msgspec.ValidationError) as error:
        raise ConfigValueError(
            f"invalid config value for '{key}': expected {kind.__name__}, got "
            f"{value!r} of type {type(value).__name__} ({error})",
            key=key,
        ) from None


def _convert(value: Any, kind: type[Any]) -> Any:
    if kind in (bool, int) and isinstance(value, int):
        return kind(value)
    fields = field_names(kind)
    if fields and isinstance(value, Mapping):
        unknown = [key for key in cast("Mapping[str, Any]", value) if key not in fields]
        if unknown:
            raise TypeError(
                f"it has no {quoted(unknown)}, only {quoted(fields)}"
                f"{did_you_mean(unknown[0], fields)}"
            )
    return msgspec.convert(value, kind)


def field_names(kind: type[Any]) -> list[str]:
    """Return the names of the fields of an option's type; none for a plain type."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return list(getattr(kind, "__struct_fields__", ()))


IMMUTABLE_MODULE = register_config_option(
    "testing.immutable_module",
    bool,
    "check that no module pass changes its argument",
).key

STRICT_REQUIRED = register_config_option(
    "parpass.strict_required",
    bool,
    "do not run a disabled pass even if another pass requires it",
).key


CHECK_CONTRACT = register_config_option(
    "parpass.check_contract",
    bool,
    "also run each function pass twice, in different processes, and compare",
).key


CHECK_ANALYSES = register_config_option(
    "parpass.check_analyses",
    bool,
    "recompute the analyses that each pass claims to preserve, before and after it",
).key


class OnFailure(enum.StrEnum):
    """The policy if a pass fails on a function.

    FAIL ends the run. SKIP keeps the function as it was before that pass, says so in a
    warning diagnostic, and goes on. RETRY tries once more, and then ends the run.
    """

    FAIL = "fail"
    SKIP = "skip"
    RETRY = "retry"


for _limit in LIMITS:
    _where = "" if _limit.clock is not None else ", in a worker"
    register_config_option(
        _limit.option,
        _limit.type,
        f"{_limit.unit} that a pass may take on a function{_where}",
    )

ON_FAILURE = register_config_option(
    "parpass.on_failure",
    OnFailure,
    "what to do when a pass fails on a function: fail, skip or retry",
).key


# Options of the runner, defined here as contexts are made before it is loaded.
ASKING_WORKERS_SECONDS = register_config_option(
    "parpass.asking_workers_seconds",
    float,
    "assumed cost of asking the workers, in seconds; 0 sends all work to them",
).key

ISOLATED = register_config_option(
    "parpass.isolated",
    bool,
    "run every function pass in a worker, so that a crash cannot end your process",
).key

START_TIMEOUT = register_config_option(
    "parpass.start_timeout",
    float,
    "time limit for a worker to start and load what a stage needs, in seconds",
).key


class Optimizations(msgspec.Struct, frozen=True):
    """The value of the option `parpass.optimizations`; all are on by default.

    Attributes:
        stages: Group passes into stages, up to the next pass that needs all functions.
            A worker runs all passes of a stage on a function. If off, each pass is a
            stage.
        local_small_stages: Run a stage in the coordinator if sending its functions
            takes longer than running it.
        batches: Encode small functions in batches, and shared parts once.
        retained_bytes: Keep functions encoded between stages.
        stable_signatures: Give a pass that reads the type of another function the type
            at the beginning of the stage, and run the pass again if the type has
            changed.
        large_value_bytes: Send values of at least this size out-of-band. A very large
            number sends all values in-band.
        cached_analyses: Reuse results of analyses, and the results of passes that
            functions store: in Relay, their types.
    """

    stages: bool = True
    local_small_stages: bool = True
    batches: bool = True
    retained_bytes: bool = True
    stable_signatures: bool = True
    large_value_bytes: int = 16 * 1024
    cached_analyses: bool = True


OPTIMIZATIONS = register_config_option(
    "parpass.optimizations",
    Optimizations,
    "optimizations of the runner; set one to false to find out whether it makes a "
    "parallel run differ from the serial one",
).key

_ALL_ON = Optimizations()


def optimizations_in(config: Mapping[str, Any]) -> Optimizations:
    return config.get(OPTIMIZATIONS, _ALL_ON)
