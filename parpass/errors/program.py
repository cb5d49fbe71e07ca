"""Programs: what passes report in them, and nodes and modules used wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from parpass.errors.base import ParpassError, did_you_mean, quoted


class DiagnosticError(ParpassError):
    """A program has errors; `diagnostics` holds all that was reported, in order.

    Attributes:
        is_rendered: Whether they have been shown before this was raised, as those of a
            pass are.
    """

    is_rendered: ClassVar[bool] = True

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ModuleError(ParpassError):
    """A module cannot hold what it was given."""


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
    """The calls of a ScopeBuilder do not make an expression."""


class UntypedError(IRError, ValueError):
    """A type was asked for that has not been inferred yet."""


class UnknownAttrError(IRError, KeyError):
    """The attributes of a call have none of that name."""

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
    """Two nodes or modules are not structurally equal; `path` is where they differ.

    `function` is the name of the function in which they do, None outside of modules.
    """

    def __init__(self, message: str, *, path: str, function: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.function = function


class EvaluationError(ParpassError):
    """The interpreter met a program that it cannot evaluate."""


class CallLimitError(EvaluationError):
    """A program calls more functions than it was to be evaluated for."""


class StepLimitError(EvaluationError):
    """A loop program takes more steps than it was to be evaluated for."""
