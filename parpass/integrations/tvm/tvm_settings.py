"""TVM's PassContext, as it goes to workers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import tvm

from parpass.errors import ArgumentError
from parpass.integrations.tvm.graph_codec import decode, encode


class TVMSettings(NamedTuple):
    """Level, names and options of a TVM PassContext.

    Attributes:
        opt_level: Its level.
        required: The names of passes that run whatever their level.
        disabled: The names of passes that do not run.
        config: The options, encoded.
    """

    opt_level: int
    required: tuple[str, ...]
    disabled: tuple[str, ...]
    config: bytes

    @classmethod
    def current(cls) -> TVMSettings:
        """Return those in force here.

        Raises:
            ArgumentError: The context has instruments, which cannot go to workers, or
                an option that cannot.
        """
        context = tvm.transform.PassContext.current()
        if context.instruments:
            raise ArgumentError(
                "expected a TVM PassContext without instruments, got "
                f"{len(context.instruments)}: they would see nothing of what workers do"
            )
        return cls(
            int(context.opt_level),
            tuple(map(str, context.required_pass)),
            tuple(map(str, context.disabled_pass)),
            encode(context.config),
        )

    def context(self) -> AbstractContextManager[Any]:
        """Return a new TVM PassContext with these."""
        return tvm.transform.PassContext(
            opt_level=self.opt_level,
            required_pass=[*self.required],
            disabled_pass=[*self.disabled],
            config=dict(decode(self.config).items()),
        )
