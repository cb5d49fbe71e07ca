"""The toy IR again, with adapters that tell which functions are printed."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from parpass.transform import Pass, PassContext, function_pass, register_adapter
from tests.support.toy.ir import Fn, Program, ToyAdapter


class PrintedProgram(Program):
    """A module of which is known what was printed."""


class PrintingAdapter(ToyAdapter):
    """Handles such modules."""

    def __init__(self) -> None:
        self._printed: list[str] = []

    def function_text(self, name: str, function: Fn, mod: Program) -> str:
        self._printed.append(name)
        if 13 in function.values:
            raise LookupError("unlucky")
        return super().function_text(name, function, mod)

    @contextlib.contextmanager
    def printing(self) -> Generator[list[str]]:
        """Yield the names of the functions that are printed in the block."""
        self._printed = []
        yield self._printed


PRINTING = PrintingAdapter()
register_adapter(PrintedProgram, PRINTING)


class PositiveProgram(Program):
    """A module of positive numbers, of which is known what was printed."""


@function_pass(opt_level=0)
def make_positive(func: Fn, mod: Program, ctx: PassContext) -> Fn:
    """Restore what an IR of positive numbers asks for."""
    made = tuple(map(abs, func.values))
    return func if made == func.values else func.with_values(made)


class _PositiveAdapter(PrintingAdapter):
    def restoring_pass(self, kind: str) -> Pass | None:
        return make_positive


POSITIVE = _PositiveAdapter()
register_adapter(PositiveProgram, POSITIVE)


class MaskedProgram(PositiveProgram):
    """One whose text shows the first number of a function alone."""


class _MaskedAdapter(_PositiveAdapter):
    def function_text(self, name: str, function: Fn, mod: Program) -> str:
        return f"{name}: {function.values[0]}, ..."


register_adapter(MaskedProgram, _MaskedAdapter())
