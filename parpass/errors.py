"""Every exception that parpass raises.

::

    ParpassError
    ├── PassError                 a pass broke its contract
    │   ├── PassResultError       it returned the wrong kind (also TypeError)
    │   ├── PassInputError        it was given no module (also TypeError)
    │   ├── UndefinedPassError    a pipeline item is missing (also ValueError)
    │   ├── ReadOnlyModuleError   a function pass wrote to the module it was given
    │   ├── InputChangedError     a module pass changed the module it was given
    │   ├── ContractError         a function pass depends on what it must not
    │   ├── WellFormedError       it broke the IR's rules (also AssertionError)
    │   └── UnprintablePassError  it cannot be put in pipeline text (also ValueError)
    ├── UnknownPassError          no pass of that name (also KeyError)
    ├── UnknownFunctionError      no global function of that name (also ValueError)
    ├── PassContextError          a context was left out of order (also RuntimeError)
    ├── ArgumentError             a value of the wrong kind (also TypeError)
    ├── ConfigError               unknown or ill-typed option (also AttributeError)
    │   └── ConfigValueError      ... a value of the wrong type (also TypeError)
    ├── InstrumentError           an instrument is not fit for use (also TypeError)
    ├── DiagnosticError           a pass reported errors on the user's program
    ├── ModuleError               a module cannot hold what it was given
    │   ├── UnknownGlobalError    no function of that name (also ValueError)
    │   └── ModuleTypeError       a function or key of the wrong kind (also TypeError)
    ├── IRError                   a node is used against its rules
    │   ├── IRTypeError           ... with a value of the wrong kind (also TypeError)
    │   ├── ScopeBuilderError     ... built out of order (also RuntimeError)
    │   ├── UntypedError          ... its type has not been inferred (also ValueError)
    │   ├── UnknownAttrError      ... no attribute of that name (also KeyError)
    │   ├── UnknownOpError        ... no operator of that name (also AttributeError)
    │   └── StructuralMismatchError   two nodes differ (also ValueError)
    ├── MalformedJSONError        text that load_json cannot read (also ValueError)
    ├── EvaluationError           the interpreter met a program it cannot evaluate
    ├── FrontendError             an input file cannot be imported
    │   ├── MalformedModelError   ... truncated, or not of its format (also ValueError)
    │   └── UnsupportedOpsError   ... unknown operators (also NotImplementedError)
    ├── PipelineSyntaxError       pipeline text that cannot be read (also ValueError)
    ├── ParseError                IR text that cannot be read (also ValueError)
    ├── ReproducerError           a reproducer that cannot be used (also ValueError)
    ├── RuntimeUseError           the runner cannot run here or now (also RuntimeError)
    ├── FunctionFailure           what a pass did on one function ended it from outside
    │   ├── WorkerDiedError       ... a worker died, again and again (also RuntimeError)
    │   ├── FunctionTimeoutError  ... it took longer than it may (also TimeoutError)
    │   └── MemoryLimitError      ... it took more memory than it may (also MemoryError)
    ├── WorkerError               an unpicklable error of a worker (also RuntimeError)
    └── InternalError             a fault of parpass itself (also RuntimeError)

Warnings: `UnpicklablePassWarning`, `PassStateWarning`, `SlowerRunWarning`,
`BudgetWarning`.

Every error keeps its values as attributes and survives pickling, because errors
travel from the workers to the coordinator.
"""

from __future__ import annotations

import contextlib
import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that look like `name`, best first."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_folded, n=3, cutoff=0.5)
    return [by_folded[folded] for folded in found]


def quoted(names: Iterable[str]) -> str:
    """Return names in single quotes, separated by commas."""
    return ", ".join(f"'{name}'" for name in names)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest known names."""
    near = nearest(name, known)
    return f"; did you mean {quoted(near)}?" if near else ""


class ParpassError(Exception):
    """The root of all errors that parpass raises itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        # KeyError, one of our second bases, would show its message in quotes.
        return str(self.args[0]) if self.args else ""


def _rebuild(
    kind: type[ParpassError], args: tuple[Any, ...], state: dict[str, Any]
) -> ParpassError:
    # Constructors take values, not the message, so unpickling goes round them.
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class PassError(ParpassError):
    """A pass broke its contract; `pass_name` and `function` say where."""

    def __init__(
        self, message: str, *, pass_name: str, function: str | None = None
    ) -> None:
        super().__init__(message)
        self.pass_name = pass_name
        self.function = function


class PassResultError(PassError, TypeError):
    """A pass returned something that is neither a module nor a function."""


class PassInputError(PassError, TypeError):
    """A pass was called on something that is not a module."""


class UndefinedPassError(PassError, ValueError):
    """A Sequential holds None where a pass should be."""


class ReadOnlyModuleError(PassError):
    """A function pass tried to change the module that it was given to read."""


class InputChangedError(PassError):
    """A module pass changed its input under the option `testing.immutable_module`."""


class ContractError(PassError):
    """A function pass broke its contract under the option `parpass.check_contract`.

    It changed something besides what it returns, or its result depends on the hash
    seed, the process, the order of functions or on having been run before.
    `difference` is where results differ first, empty if it changed something.
    """

    def __init__(
        self, message: str, *, pass_name: str, function: str, difference: str = ""
    ) -> None:
        super().__init__(message, pass_name=pass_name, function=function)
        self.difference = difference


class WellFormedError(PassError, AssertionError):
    """A module breaks the rules of its IR, before a pass or after it.

    `faults` has what is wrong, by function.
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
    """No pass is registered under a name; the nearest names are in the message."""

    def __init__(self, name: str, known: Iterable[str], *, wanted_by: str = "") -> None:
        known = tuple(known)
        wanted = f" (required by '{wanted_by}')" if wanted_by else ""
        hint = did_you_mean(name, known) or "; see 'parpass opt --list-passes'"
        super().__init__(f"no pass named '{name}'{wanted}{hint}")
        self.name = name
        self.nearest = nearest(name, known)


class UnknownFunctionError(ParpassError, ValueError):
    """No function is registered under a name; the nearest names are in the message."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        hint = did_you_mean(name, known)
        super().__init__(f"no global function named '{name}'{hint}")
        self.name = name


class PassContextError(ParpassError, RuntimeError):
    """A PassContext was left while another one was the current one."""


class ArgumentError(ParpassError, TypeError):
    """A PassInfo, PassContext, pass or Sequential was given the wrong kind of value."""


class ConfigError(ParpassError, AttributeError):
    """A configuration option is unknown, or its value has the wrong type."""

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


class ConfigValueError(ConfigError, TypeError):
    """The value of a configuration option has the wrong type, or unknown fields."""


class InstrumentError(ParpassError, TypeError):
    """An object given as an instrument is none, or was not constructed fully."""


class DiagnosticError(ParpassError):
    """A pass reported errors; `diagnostics` holds all that it reported, in order."""

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ModuleError(ParpassError):
    """A module cannot hold what it was given."""


class UnknownGlobalError(ModuleError, ValueError):
    """A module has no function of that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = tuple(known)
        hint = did_you_mean(name, known) or f"; it has {quoted(known) or 'none'}"
        super().__init__(f"the module has no function named '{name}'{hint}")
        self.name = name


class ModuleTypeError(ModuleError, TypeError):
    """A module was given a key or a function of the wrong kind."""


class IRError(ParpassError):
    """A node of the embedded IR is used against its rules."""


class IRTypeError(IRError, TypeError):
    """A node was given a value of the wrong kind."""


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


class MalformedJSONError(ParpassError, ValueError):
    """JSON text holds no IR; `where` is the place, such as `nodes[12].args[0]`."""

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where


class EvaluationError(ParpassError):
    """The interpreter met a program that it cannot evaluate."""


class FrontendError(ParpassError):
    """An input file cannot be imported; `source` names it."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(message)
        self.source = source


class MalformedModelError(FrontendError, ValueError):
    """An input file is truncated, or not of the format that it should be of."""


class UnsupportedOpsError(FrontendError, NotImplementedError):
    """A model uses unsupported operators; `counts` maps each to its occurrences."""

    def __init__(self, counts: dict[str, int], *, source: str) -> None:
        listed = ", ".join(f"{name} ({n} x)" for name, n in sorted(counts.items()))
        super().__init__(f"{source}: unsupported operators: {listed}", source=source)
        self.counts = dict(counts)


class PipelineSyntaxError(ParpassError, ValueError):
    """Pipeline text cannot be read.

    `faults` has what is wrong with it, each as its line, its column and a message; line
    and column count from 1.
    """

    def __init__(
        self, message: str, *, faults: Sequence[tuple[int, int, str]] = ()
    ) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class ParseError(ParpassError, ValueError):
    """IR as text cannot be read; `diagnostics` holds all errors, in order."""

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ReproducerError(ParpassError, ValueError):
    """A file is no reproducer, or names passes that are not there."""


class RuntimeUseError(ParpassError, RuntimeError):
    """The runner is used in a place, or in a state, where it cannot run."""


class FunctionFailure(ParpassError):  # noqa: N818 -- the base of errors, never raised
    """A pass on one function was ended from outside.

    Attributes:
        pass_name: The pass.
        function: The function.
        reason: What happened, without the names of pass and function.
        reproducer: The path of the reproducer, None if none was written.
        traceback: Where the worker was, as `faulthandler` tells it, C code included;
            empty if nothing could be learned.
    """

    def __init__(
        self, message: str, *, pass_name: str, function: str, reason: str
    ) -> None:
        super().__init__(message)
        self.pass_name = pass_name
        self.function = function
        self.reason = reason
        self.reproducer: str | None = None
        self.traceback = ""


class WorkerDiedError(FunctionFailure, RuntimeError):
    """A worker died, and died again when the suspect ran alone.

    `cause` is the signal or the exit code; `where` says what the worker was at: "pass",
    or "unpickle" and "pickle" for the way of the function there and back.
    """

    def __init__(
        self, *, pass_name: str, function: str, cause: str, where: str = "pass"
    ) -> None:
        doing = _DOING[where].format(pass_name=pass_name, function=function)
        super().__init__(
            f"a worker process died ({cause}) while {doing}, and again when that "
            "function ran alone; run the pipeline with workers=0 to see it fail in "
            "this process",
            pass_name=pass_name,
            function=function,
            reason=f"a worker process died ({cause})",
        )
        self.cause = cause
        self.where = where


_DOING = {
    "pass": "pass '{pass_name}' ran on function '{function}'",
    "unpickle": "function '{function}' was unpickled for pass '{pass_name}'",
    "pickle": "function '{function}' was pickled after pass '{pass_name}'",
}


class FunctionTimeoutError(FunctionFailure, TimeoutError):
    """A pass took longer on a function than `function_timeout`; `limit` in seconds."""

    def __init__(self, *, pass_name: str, function: str, limit: float) -> None:
        reason = f"it took longer than its function_timeout of {limit:g} s"
        super().__init__(
            f"pass '{pass_name}' on function '{function}': {reason}; allow it more, or "
            "set on_failure='skip' to go on without this pass on this function",
            pass_name=pass_name,
            function=function,
            reason=reason,
        )
        self.limit = limit


class MemoryLimitError(MemoryError, FunctionFailure):
    """A pass took more memory on a function than `memory_limit`; `limit` in bytes."""

    def __init__(self, *, pass_name: str, function: str, limit: int) -> None:
        reason = f"it took more memory than its memory_limit of {limit:,} bytes"
        # MemoryError comes first, as it has a constructor of its own.
        FunctionFailure.__init__(
            self,
            f"pass '{pass_name}' on function '{function}': {reason}; allow it more, or "
            "set on_failure='skip' to go on without this pass on this function",
            pass_name=pass_name,
            function=function,
            reason=reason,
        )
        self.limit = limit


_OTHERS = "_parpass_other_failures"


def other_failures(error: BaseException) -> tuple[Exception, ...]:
    """Return the failures that a parallel run met in the same pass, in module order.

    `error` is the first of them. A serial run stops there and knows of no others.
    """
    return getattr(error, _OTHERS, ())


def attach_others(first: Exception, failures: Sequence[Exception]) -> None:
    """Have `other_failures(first)` return all of these but itself."""
    others = tuple(error for error in failures if error is not first)
    if others:
        # Some exceptions are frozen; they do without.
        with contextlib.suppress(AttributeError, TypeError):
            setattr(first, _OTHERS, others)


class WorkerError(ParpassError, RuntimeError):
    """An exception in a worker that cannot be pickled; `original` is its text."""

    def __init__(self, original: str) -> None:
        super().__init__(f"{original} (the exception itself could not be pickled)")
        self.original = original


class InternalError(ParpassError, RuntimeError):
    """A fault of parpass itself; please report it with the traceback."""


class UnpicklablePassWarning(RuntimeWarning):
    """A pass cannot travel to the workers, so it runs in this process."""


class PassStateWarning(RuntimeWarning):
    """A function pass changed itself in a worker; the change does not come back."""


class SlowerRunWarning(RuntimeWarning):
    """A run goes on by a slower road than was asked for; its result is the same."""


class BudgetWarning(RuntimeWarning):
    """A budget was set that nothing can enforce where the passes run."""
