"""The results of functions on which all passes of a stage ran before the others.

The serial driver takes them where the passes then run one after the other.
"""

from __future__ import annotations

from typing import Any

from parpass.diagnostic import renderer_is_overridden
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.messages import ANY_FUNCTION, Effects
from parpass.runner.stage.interpreter import FunctionCursor
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform.capture.recorder import Recorder
from parpass.transform.plan.serial import KnownResult, KnownResults


def may_go_on_serially(state: RunState, stage: StageInProgress) -> bool:
    """Return whether a stage may be continued pass by pass.

    Not if something is kept of each function, nor if the serial driver ends a stage
    after each pass.
    """
    context = state.context
    return stage.outcomes.is_empty and not (
        state.cache is not None
        or context.change_watch is not None
        or context.instruments
        or renderer_is_overridden()
    )


class KeptResults:
    """Functions after each pass of a stage, by name, in module order."""

    def __init__(self) -> None:
        self._functions: dict[str, list[Any]] = {}

    def add(self, cursor: FunctionCursor) -> None:
        """Add a function, after a pass."""
        made = self._functions.setdefault(cursor.name, [])
        made.append(cursor.outcome.function)

    def known(self, outcomes: StageOutcomes) -> KnownResults | None:
        """Return the results of the functions so far, None if they cannot be taken.

        They cannot if a pass failed or emitted something, or if it is not known on
        which assumptions they rest.
        """
        by_function: dict[str, list[KnownResult]] = {}
        relying: dict[str, list[str]] = {}
        for at, (name, functions) in enumerate(self._functions.items()):
            effects, dependencies = (
                outcomes.effects_of(at),
                outcomes.dependencies_of(at),
            )
            has_emitted = any(one.emissions for one in effects.values())
            is_known = outcomes.is_complete(at) and ANY_FUNCTION not in dependencies
            if has_emitted or not is_known:
                return None
            by_function[name] = [
                (function, _recorder(effects.get(step)))
                for step, function in enumerate(functions)
            ]
            for other in dependencies:
                relying.setdefault(outcomes.names[other], []).append(name)
        return KnownResults(by_function, relying)


def _recorder(effects: Effects | None) -> Recorder:
    recorder = Recorder(None)
    if effects is not None:
        if effects.diagnostics:
            recorder.diag_ctx.diagnostics.extend(effects.diagnostics)
        if effects.counters:
            recorder.counters.update(effects.counters)
        recorder.remarks, recorder.changes = effects.remarks, effects.changes
    return recorder
