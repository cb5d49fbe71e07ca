"""WellFormedInstrument: modules keep the rules of their IR, around each pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parpass.errors import WellFormedError
from parpass.instrument.protocol import PassInstrument
from parpass.transform import PassInfo, adapter_of

_SHOWN = 10


class WellFormedInstrument(PassInstrument):
    """Raises `WellFormedError` as soon as a module breaks the rules of its IR.

    The module's adapter defines the rules; for Relay see
    `parpass.relay.analysis.function_faults`. A function that has been checked and is
    still the same object is not checked again.

    Args:
        validate_before_transform: Whether to check before passes, too, so that a broken
            input is not blamed on the first pass.
    """

    def __init__(self, *, validate_before_transform: bool = True) -> None:
        self._before = validate_before_transform
        self._sound: Mapping[str, Any] = {}
        self._open: list[str] = []  # the passes that have begun

    def enter_pass_ctx(self) -> None:
        """Start afresh."""
        self._open = []

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Check the input of the pass.

        If the input of an outer pass was sound and that of a nested pass is not, the
        outer pass is at fault.
        """
        if self._before and self._open:
            self._check(mod, self._open[-1], "after")
        elif self._before:
            self._check(mod, info.name, "before")
        self._open.append(info.name)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Check the output of the pass."""
        self._open.pop()
        self._check(mod, info.name, "after")

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        """Forget a pass that failed."""
        del mod, info, error
        self._open.pop()

    def _check(self, mod: Any, pass_name: str, when: str) -> None:
        adapter = adapter_of(mod, pass_name)
        functions = dict(adapter.functions(mod))
        # A function may refer to others by name: with other names all are looked at.
        sound = self._sound
        if sound.keys() != functions.keys():
            sound = dict[str, Any]()
        faults = {
            name: tuple(adapter.faults(function, mod))
            for name, function in functions.items()
            if name not in sound or sound[name] is not function
        }
        faults = {name: found for name, found in faults.items() if found}
        if faults:
            raise WellFormedError(
                _message(faults, pass_name, when),
                pass_name=pass_name,
                function=next(iter(faults)),
                faults=faults,
            )
        self._sound = functions


def _message(faults: Mapping[str, tuple[str, ...]], pass_name: str, when: str) -> str:
    lines = [
        f"function '{name}': {fault}"
        for name, found in faults.items()
        for fault in found
    ]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    listed = "\n  ".join(lines)
    return f"the module is not well formed {when} pass '{pass_name}':\n  {listed}"
