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
    """A module cannot hold a definition."""


class UnknownGlobalError(ModuleError, ValueError):
    """A module has no function or type of the given name."""

    def __init__(self, name: str, known: Iterable[str], what: str = "function") -> None:
        known = tuple(known)
        hint = did_you_mean(name, known) or f"; it has {quoted(known) or 'none'}"
        super().__init__(f"the module has no {what} named '{name}'{hint}")
        self.name = name


class ModuleTypeError(ModuleError, TypeError):
    """A key or function has the wrong type for a module."""


class IRError(ParpassError):
    """A node of the embedded IR is used incorrectly."""


class IRTypeError(IRError, TypeError):
    """A value has the wrong type for a node."""


class SizeLimitError(IRError, ValueError):
    """A type, a program or its text would exceed a size limit."""


class ScopeBuilderError(IRError, RuntimeError):
    """The calls of a ScopeBuilder do not form an expression."""


class UntypedError(IRError, ValueError):
    """A type was read before it was inferred."""


class UnknownAttrError(IRError, KeyError):
    """A call has no attribute of the given name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = tuple(known)
        hint = did_you_mean(name, known) or f"; there are {quoted(known) or 'none'}"
        super().__init__(f"no attribute named '{name}'{hint}")
        self.name = name


class UnknownOpError(IRError, AttributeError):
    """No operator has the given name."""

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
    """The interpreter cannot evaluate a program."""


class CallLimitError(EvaluationError):
    """A program exceeds the limit on calls in its evaluation."""


class StepLimitError(EvaluationError):
    """A loop program exceeds the limit on steps in its evaluation."""


class MalformedJSONError(ParpassError, ValueError):
    """JSON text is no valid IR; `where` is the place, such as `nodes[12].args[0]`."""

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where


class FrontendError(ParpassError):
    """An input file cannot be imported; `source` names it."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(message)
        self.source = source


class MalformedModelError(FrontendError, ValueError):
    """An input file is truncated, or not in the expected format."""


class UnsupportedOpsError(FrontendError, NotImplementedError):
    """A model uses unsupported operators; `counts` maps each to its occurrences."""

    def __init__(self, counts: dict[str, int], *, source: str) -> None:
        listed = ", ".join(f"{name} ({n} x)" for name, n in sorted(counts.items()))
        super().__init__(f"{source}: unsupported operators: {listed}", source=source)
        self.counts = dict(counts)


class TargetError(ParpassError, ValueError):
    """No target has the given name or kind."""


class CodeGenError(ParpassError):
    """A function cannot be compiled to machine code; `span`, if known, is the place."""

    def __init__(self, message: str, function: str = "", span: Any = None) -> None:
        super().__init__(message)
        self.function = function
        self.span = span


class LibraryError(ParpassError):
    """A compiled library cannot be loaded."""


class DamagedLibraryError(LibraryError, ValueError):
    """A library was changed after it was written, or is truncated."""


class ForeignLibraryError(LibraryError):
    """A library is for another machine, or for another version of the format."""


class CPUFeatureError(ForeignLibraryError):
    """A library uses features, listed in `missing`, that this processor lacks."""

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class KernelError(ParpassError, RuntimeError):
    """A compiled function detected a fault at run time, such as a failed assertion."""
