"""The toy IR again, with an adapter that tells which functions are printed."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from parpass.transform import register_adapter
from tests.support.toy.ir import Fn, Program, ToyAdapter


class PrintedProgram(Program):
    """A module of which is known what was printed."""


class PrintingAdapter(ToyAdapter):
    """Handles such modules."""

    def __init__(self) -> None:
        self._printed: list[str] = []

    def function_text(self, name: str, function: Fn, mod: Program) -> str:
        self._printed.append(name)
        return super().function_text(name, function, mod)

    @contextlib.contextmanager
    def printing(self) -> Generator[list[str]]:
        """Yield the names of the functions that are printed in the block."""
        self._printed = []
        yield self._printed


PRINTING = PrintingAdapter()
register_adapter(PrintedProgram, PRINTING)
