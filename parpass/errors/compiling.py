"""Machine code: targets, what cannot be compiled, libraries, kernels that fail."""

from __future__ import annotations

from typing import Any

from parpass.errors.base import ParpassError


class TargetError(ParpassError, ValueError):
    """There is no such target, or none of that kind."""


class CodeGenError(ParpassError):
    """No machine code can be made of a function; `span` is where, if that is known."""

    def __init__(self, message: str, function: str = "", span: Any = None) -> None:
        super().__init__(message)
        self.function = function
        self.span = span


class LibraryError(ParpassError):
    """A compiled library cannot be loaded."""


class DamagedLibraryError(LibraryError, ValueError):
    """A library is not what was written: it was changed, or is not whole."""


class ForeignLibraryError(LibraryError):
    """A library is for another machine, or of another version of the format."""


class CPUFeatureError(ForeignLibraryError):
    """A library uses what this processor does not have; `missing` are its names."""

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class KernelError(ParpassError, RuntimeError):
    """A compiled function found a fault while it ran, such as a broken assertion."""
