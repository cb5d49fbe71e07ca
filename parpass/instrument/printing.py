"""Instruments that print the module around passes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from parpass.instrument.protocol import PassInstrument
from parpass.transform import PassInfo
from parpass.transform.info import names


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass.

    Args:
        stream: Where to; by default what standard output is at that time.
    """

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module."""
        _print(f"Before Running Pass: {info}\n{mod}\n", self._stream)


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass.

    Args:
        stream: Where to; by default what standard output is at that time.
    """

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module."""
        _print(f"After Running Pass: {info}\n{mod}\n", self._stream)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before some passes and after some.

    Args:
        print_before_pass_names: The passes before which to print.
        print_after_pass_names: The passes after which to print.
        stream: Where to; by default what standard output is at that time.

    Raises:
        ArgumentError: The names are no list of names.
    """

    def __init__(
        self,
        print_before_pass_names: Iterable[str],
        print_after_pass_names: Iterable[str],
        *,
        stream: TextIO | None = None,
    ) -> None:
        self._before = names(print_before_pass_names, "print_before_pass_names")
        self._after = names(print_after_pass_names, "print_after_pass_names")
        self._stream = stream

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is one of those."""
        if info.name in self._before:
            _print(f"Print IR before: {info.name}\n{mod}\n\n\n", self._stream)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is one of those."""
        if info.name in self._after:
            _print(f"Print IR after: {info.name}\n{mod}\n\n\n", self._stream)


def _print(text: str, stream: TextIO | None) -> None:
    (sys.stdout if stream is None else stream).write(text)
