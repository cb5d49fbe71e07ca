"""LayoutConfig: which convolutions ConvertLayout leaves as they are."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token
from typing import Self

from parpass.errors import IRError
from parpass.runner.travel.propagation import propagate

_skipped: ContextVar[frozenset[int]] = propagate(
    ContextVar("parpass.relay.LayoutConfig", default=frozenset())
)


class LayoutConfig:
    """Has ConvertLayout leave some convolutions alone, in a `with` block.

    Args:
        skip_layers: Which of the convolutions that are to be converted, counted from 0
            on in each function, those that others need before these.
    """

    def __init__(self, skip_layers: Iterable[int] | None = None) -> None:
        self.skip_layers = frozenset(skip_layers or ())
        self._tokens: list[Token[frozenset[int]]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_skipped.set(self.skip_layers))
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._tokens:
            raise IRError("expected a LayoutConfig that was entered to be left")
        _skipped.reset(self._tokens.pop())


def skipped_layers() -> frozenset[int]:
    """Return the convolutions that the nearest LayoutConfig leaves alone."""
    return _skipped.get()
