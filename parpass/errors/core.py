"""The errors of the pass manager, their root class and helpers for their messages.

They concern contexts, options, arguments and instruments; passes, pipelines and
reproducers; diagnostics and program text; and misuse of the runner. What ends a pass
from outside is in `errors.failures`, errors that the embedded compiler alone raises are
in `errors.ir`, those of adapters in `errors.adapters`.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from parpass.errors.hints import Hinted

__all__ = [
    "ArgumentError",
    "ConfigError",
    "ConfigValueError",
    "ContractError",
    "DiagnosticError",
    "EntryPointError",
    "InputChangedError",
    "InstrumentError",
    "InternalError",
    "ParpassError",
    "ParseError",
    "PassContextError",
    "PassError",
    "PassInputError",
    "PassResultError",
    "PipelineSyntaxError",
    "PreservedAnalysisError",
    "ReadOnlyModuleError",
    "ReproducerError",
    "RuntimeUseError",
    "UndefinedPassError",
    "UnknownFunctionError",
    "UnknownPassError",
    "UnprintablePassError",
    "UnreadFunctionError",
    "WellFormedError",
]

_CUTOFF = 0.5  # least likeness of two names: matching characters as a share of both
_CUTOFF_SPAN = 0.1  # other names are shown if they are at most so much less alike


def nearest(
    name: str, known: Iterable[str], *, least_alike: float = _CUTOFF
) -> list[str]:
    """Return the known name most like `name` and those nearly as near, best first.

    They are at most three; case is ignored. `least_alike` is the least likeness.
    """
    by_folded = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_folded, n=3, cutoff=least_alike)
    if not found:
        return []
    matcher = difflib.SequenceMatcher(b=name.lower())

    def likeness(folded: str) -> float:
        matcher.set_seq1(folded)
        return matcher.ratio()

    least = likeness(found[0]) - _CUTOFF_SPAN
    return [by_folded[folded] for folded in found if likeness(folded) >= least]


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest known names."""
    return _suggestion(nearest(name, known))


def _suggestion(near: Sequence[str]) -> str:
    return f"; did you mean {quoted(near)}?" if near else ""


def describe_kind(value: object) -> str:
    """Return the type name of an unexpected value, for a message.

    For a tuple, such as the pair of module and weights that frontends return, a hint at
    unpacking it is appended.
    """
    name = type(value).__name__
    return f"{name}; is it a pair? write mod, params = ..." if name == "tuple" else name


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception; a frozen exception is left unchanged."""
    with contextlib.suppress(Exception):  # user classes may raise anything when written
        error.add_note(note)


def safe_getattr(error: BaseException, name: str, default: Any = None) -> Any:
    try:
        return getattr(error, name, default)
    except Exception:  # noqa: BLE001 -- a user's `__getattr__` may raise anything
        return default


class ParpassError(Hinted, Exception):
    """The root of all errors that parpass raises itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        # KeyError, a second base of some errors, shows its message in quotes.
        return str(self.args[0]) if self.args else ""


def _rebuild(
    kind: type[ParpassError], args: tuple[Any, ...], state: dict[str, Any]
) -> ParpassError:
    # Constructors take values, not the message, so unpickling bypasses them.
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class PassContextError(ParpassError, RuntimeError):
    """A PassContext was exited that was not the current one."""


class ArgumentError(ParpassError, TypeError):
    """An argument of a PassInfo, PassContext, pass or Sequential has the wrong type."""


class ConfigError(ParpassError, AttributeError):
    """A configuration option, `key`, is unknown, or its value has the wrong type."""

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


class ConfigValueError(ConfigError, TypeError):
    """The value of a configuration option has the wrong type, or unknown fields."""


class InstrumentError(ParpassError, TypeError):
    """An instrument is not one, or was not fully constructed."""


class PassError(ParpassError):
    """A pass broke its contract.

    Attributes:
        pass_name: The pass.
        function: The function it ran on; None for a module pass.
    """

    def __init__(
        self, message: str, *, pass_name: str, function: str | None = None
    ) -> None:
        super().__init__(message)
        self.pass_name = pass_name
        self.function = function


class PassResultError(PassError, TypeError):
    """A pass returned a value that is neither a module nor a function."""


class PassInputError(PassError, TypeError):
    """A pass was called on a value that is no module, or a module of another IR."""


class UndefinedPassError(PassError, ValueError):
    """A Sequential contains None instead of a pass."""


class ReadOnlyModuleError(PassError):
    """A function pass tried to change the module, which it may only read."""

    @classmethod
    def of(cls, reader: str, what: str) -> ReadOnlyModuleError:
        """Return the error of a pass.

        Args:
            reader: The name of the pass.
            what: The intended change, in words, followed by `the module`.
        """
        return cls(
            f"function pass '{reader}' tried to {what} the module, which it may only "
            "read; return the one function, or write a module pass to add, replace or "
            "remove functions",
            pass_name=reader,
        )


class InputChangedError(PassError):
    """A pass changed its argument in place.

    Detected for module passes under the option `testing.immutable_module`, and for
    function passes if the IR's functions are mutable but passes must not change them
    (`Mutability`).
    """


class ContractError(PassError):
    """A function pass broke its contract under the option `parpass.check_contract`.

    It has a side effect, or its result depends on the hash seed, the process, the order
    of functions or an earlier run. `difference` is the first difference between
    results; empty for a side effect.
    """

    def __init__(
        self, message: str, *, pass_name: str, function: str, difference: str = ""
    ) -> None:
        super().__init__(message, pass_name=pass_name, function=function)
        self.difference = difference


class PreservedAnalysisError(PassError):
    """A pass changed an analysis that it declares preserved, or an analysis's result.

    Detected under the option `parpass.check_analyses`; see `transform.analysis`. A pass
    that changes a result that it received is also detected under
    `parpass.check_contract`.
    """


class WellFormedError(PassError, AssertionError):
    """A module breaks the rules of its IR before or after a pass.

    `faults` maps function names to the violated rules.
    """

    def __init__(
        self,
        message: str,
        *,
        pass_name: str,
        function: str | None = None,
        faults: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(message, pass_name=pass_name, function=function)
        self.faults = faults or {}


class UnprintablePassError(PassError, ValueError):
    """A pass cannot be written as pipeline text."""


class UnknownPassError(ParpassError, KeyError):
    """No pass has the given name; the message suggests the nearest names."""

    def __init__(
        self, name: str, known: Iterable[str], *, wanted_by: str = "", has: str = ""
    ) -> None:
        self.name, self.nearest = name, nearest(name, known)
        wanted = f" (required by '{wanted_by}')" if wanted_by else ""
        near = _suggestion(self.nearest)
        if has:
            hint = f"{near} {has}" if near else f"; {has}"
        else:
            hint = near or "; see 'parpass opt --list-passes'"
        super().__init__(f"no pass named '{name}'{wanted}{hint}")


class UnknownFunctionError(ParpassError, ValueError):
    """No function has the given name; the message suggests the nearest names."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        hint = did_you_mean(name, known)
        super().__init__(f"no global function named '{name}'{hint}")
        self.name = name


class PipelineSyntaxError(ParpassError, ValueError):
    """Pipeline text cannot be parsed.

    `faults` has a tuple of line, column and message for each fault; lines and columns
    count from 1.
    """

    def __init__(
        self, message: str, *, faults: Sequence[tuple[int, int, str]] = ()
    ) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class ReproducerError(ParpassError, ValueError):
    """A file is not a reproducer, or names unknown passes."""


class DiagnosticError(ParpassError):
    """A program has errors.

    Attributes:
        diagnostics: All reported diagnostics, in order.
        is_rendered: Whether they were rendered before this was raised; True for
            diagnostics of a pass.
    """

    is_rendered: ClassVar[bool] = True

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ParseError(DiagnosticError, ValueError):
    """IR text cannot be parsed; the message shows all errors with their positions."""

    is_rendered: ClassVar[bool] = False


class UnreadFunctionError(ParseError):
    """The text of a lazily parsed function cannot be parsed.

    The program is at fault, not the pass that first accessed the function, so the error
    does not name that pass and the pass is not skipped.
    """


class RuntimeUseError(ParpassError, RuntimeError):
    """The runner is used in a place or a state in which it cannot run."""

    @classmethod
    def closed(cls, what: str) -> Self:
        """Return the error of a runner, or an executor, that is used after `close`."""
        return cls(f"this {what} is closed; open a new one")


class EntryPointError(ParpassError, LookupError):
    """No entry point has the given name, or it lacks what its group requires."""


class InternalError(ParpassError, RuntimeError):
    """A bug in parpass; please report it with the traceback."""
