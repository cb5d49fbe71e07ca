"""Contexts, options, arguments and instruments that are not fit for use."""

from __future__ import annotations

from parpass.errors.base import ParpassError


class PassContextError(ParpassError, RuntimeError):
    """A PassContext was left while another one was the current one."""


class ArgumentError(ParpassError, TypeError):
    """A PassInfo, PassContext, pass or Sequential was given the wrong kind of value."""


class ConfigError(ParpassError, AttributeError):
    """A configuration option is unknown, or its value has the wrong type."""

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


class ConfigValueError(ConfigError, TypeError):
    """The value of a configuration option has the wrong type, or unknown fields."""


class InstrumentError(ParpassError, TypeError):
    """An object given as an instrument is none, or was not constructed fully."""
