"""The errors that the embedded compiler alone raises; the core raises none of them.

They concern modules and nodes of its IR, the interpreters, files of models and of
JSON, targets, code generation, compiled libraries and their kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from parpass.errors.core import ParpassError, did_you_mean, quoted

__all__ = [
    "CPUFeatureError",
    "CallLimitError",
    "CodeGenError",
    "DamagedLibraryError",
    "EvaluationError",
    "ForeignLibraryError",
    "FrontendError",
    "IRError",
    "IRTypeError",
    "KernelError",
    "LibraryError",
    "MalformedJSONError",
    "MalformedModelError",
    "ModuleError",
    "ModuleTypeError",
    "ScopeBuilderError",
    "SizeLimitError",
    "StepLimitError",
    "StructuralMismatchError",
    "TargetError",
    "UnknownAttrError",
    "UnknownGlobalError",
    "UnknownOpError",
    "UnsupportedOpsError",
    "UntypedError",
]


class ModuleError(ParpassError):
    """A module cannot hold a given definition."""


class UnknownGlobalError(ModuleError, ValueError):
    """A module has no function, or no type, of that name."""

    def __init__(self, name: str, known: Iterable[str], what: str = "function") -> None:
        known = tuple(known)
        hint = did_you_mean(name, known) or f"; it has {quoted(known) or 'none'}"
        super().__init__(f"the module has no {what} named '{name}'{hint}")
        self.name = name


class ModuleTypeError(ModuleError, TypeError):
    """A module was given a key or a function of the wrong kind."""


class IRError(ParpassError):
    """A node of the embedded IR is used against its rules."""


class IRTypeError(IRError, TypeError):
    """A node was given a value of the wrong kind."""


class SizeLimitError(IRError, ValueError):
    """A type, a program or its text would be larger than a limit says."""


class ScopeBuilderError(IRError, RuntimeError):
    """The calls of a ScopeBuilder do not form an expression."""


class UntypedError(IRError, ValueError):
    """A type was read that has not been inferred yet."""


class UnknownAttrError(IRError, KeyError):
    """The attributes of a call include none of that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = tuple(known)
        hint = did_you_mean(name, known) or f"; there are {quoted(known) or 'none'}"
        super().__init__(f"no attribute named '{name}'{hint}")
        self.name = name


class UnknownOpError(IRError, AttributeError):
    """No operator of that name is registered."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no operator named '{name}'{did_you_mean(name, known)}")
        self.name = name


class StructuralMismatchError(IRError, ValueError):
    """Two nodes or modules are not structurally equal.

    Attributes:
        path: The path to the first difference.
        function: The function that contains it; None outside of modules.
    """

    def __init__(self, message: str, *, path: str, function: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.function = function


class EvaluationError(ParpassError):
    """The interpreter met a program that it cannot evaluate."""


class CallLimitError(EvaluationError):
    """A program exceeds the number of calls allowed to its evaluation."""


class StepLimitError(EvaluationError):
    """A loop program exceeds the number of steps allowed to its evaluation."""


class MalformedJSONError(ParpassError, ValueError):
    """JSON text holds no IR; `where` is the position, such as `nodes[12].args[0]`."""

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where


class FrontendError(ParpassError):
    """An input file cannot be imported; `source` names it."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(message)
        self.source = source


class MalformedModelError(FrontendError, ValueError):
    """An input file is truncated, or not of the expected format."""


class UnsupportedOpsError(FrontendError, NotImplementedError):
    """A model uses unsupported operators; `counts` maps each to its occurrences."""

    def __init__(self, counts: dict[str, int], *, source: str) -> None:
        listed = ", ".join(f"{name} ({n} x)" for name, n in sorted(counts.items()))
        super().__init__(f"{source}: unsupported operators: {listed}", source=source)
        self.counts = dict(counts)


class TargetError(ParpassError, ValueError):
    """No target has that name or kind."""


class CodeGenError(ParpassError):
    """No machine code can be generated for a function; `span`, if known, is where."""

    def __init__(self, message: str, function: str = "", span: Any = None) -> None:
        super().__init__(message)
        self.function = function
        self.span = span


class LibraryError(ParpassError):
    """A compiled library cannot be loaded."""


class DamagedLibraryError(LibraryError, ValueError):
    """A library differs from what was written: it was changed, or is truncated."""


class ForeignLibraryError(LibraryError):
    """A library is for another machine, or of another version of the format."""


class CPUFeatureError(ForeignLibraryError):
    """A library uses features, named in `missing`, that this processor lacks."""

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class KernelError(ParpassError, RuntimeError):
    """A compiled function detected a fault at run time, such as a failed assertion."""
