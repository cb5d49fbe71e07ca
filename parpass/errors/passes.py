"""A pass that broke its contract, or that there is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parpass.errors.base import ParpassError, did_you_mean, nearest


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
    """A pass was called on something that is not a module, or is one of another IR."""


class UndefinedPassError(PassError, ValueError):
    """A Sequential holds None where a pass should be."""


class ReadOnlyModuleError(PassError):
    """A function pass tried to change the module that it was given to read."""


class InputChangedError(PassError):
    """A pass changed what it was given, in place.

    A module pass is found out under the option `testing.immutable_module`, a function
    pass where functions of the IR can be changed but must not be (`Mutability`).
    """


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
