"""Context variables that have a value for a block."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class setting(Generic[ValueT]):  # noqa: N801 -- used like a function, as contextlib's own
    """Sets a context variable for the block, and enters as its value.

    It is no generator, as `contextlib` writes to exceptions that pass through one, and
    those of users may be frozen.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[ValueT], value: ValueT) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> ValueT:
        self._token: Token[ValueT] = self._variable.set(self._value)
        return self._value

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)
