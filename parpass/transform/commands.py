"""What the plan asks of a driver, and what it is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from parpass.diagnostic import Diagnostic, DiagnosticContext
from parpass.errors import DiagnosticError
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.bisect import TellVerdicts
from parpass.transform.context import PassContext
from parpass.transform.instrumentation import Hooks, call_pass_hook
from parpass.transform.passes import Pass
from parpass.transform.reproducer import Failure, write_reproducer


@dataclass(slots=True)
class StepRecord:
    """What one pass left behind: said, counted, and whether it failed.

    In the order of a serial run: of a failed pass, what the functions up to the
    failing one said. `function` is the one that it failed on, or first reported an
    error on.
    """

    pass_name: str
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    counters: Counter[str] = field(default_factory=Counter[str])
    seconds: float = 0.0
    failure: Exception | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to RunStage and RunModulePass.

    Attributes:
        mod: The new module; of no use if the last record has a failure.
        records: One for each step that was run, up to the first that failed.
        began: `time.perf_counter()` before the first step.
        ended: The same after the last.
    """

    mod: Any
    records: Sequence[StepRecord]
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class CallHook:
    """Command: call a hook of an instrument; the answer is what it returns.

    `mod` is None for a hook that does not observe the IR. `moment` is the time that
    the clock of instruments shall show, None for the real one.
    """

    hooks: Hooks
    hook_name: str
    mod: Any
    args: tuple[Any, ...]
    moment: float | None

    def call(self, mod: Any) -> Any:
        """Call the hook with the module, as an object, that `self.mod` stands for."""
        return call_pass_hook(self.hooks, self.hook_name, mod, *self.args)


@dataclass(frozen=True, slots=True)
class RunModulePass:
    """Command: run a module pass; the answer is an Outcome with one record."""

    pass_: Pass
    mod: Any


@dataclass(frozen=True, slots=True)
class RunStage:
    """Command: run function-wise passes on all functions; the answer is an Outcome.

    `wanted` tells whether somebody will look at the functions right after.
    """

    steps: tuple[Pass, ...]
    mod: Any
    wanted: bool


@dataclass(frozen=True, slots=True)
class NameFunctions:
    """Command: the answer is the names of a module's functions, in module order."""

    mod: Any


@dataclass(frozen=True, slots=True)
class Reproduce:
    """Command: write a reproducer, of the module as it stands before a step.

    Attributes:
        steps: Function-wise passes, the failed one among them; none if a module pass
            failed.
        at: The index of the step.
        mod: The module before all steps.
        failure: What failed, and how.
    """

    steps: tuple[Pass, ...]
    at: int
    mod: Any
    failure: Failure

    def write(self, mod: Any, context: PassContext, adapter: ModuleAdapter) -> None:
        """Write it, of the module as it stands before the step."""
        write_reproducer(self.failure, mod, context, adapter)


@dataclass(frozen=True, slots=True)
class Render:
    """Command: render the diagnostics of a pass; the driver gives the module."""

    record: StepRecord
    mod: Any

    def render(self, mod: Any, context: PassContext) -> None:
        """Render; raises DiagnosticError if the pass reported errors."""
        diag_ctx = DiagnosticContext(mod)
        diag_ctx.diagnostics.extend(self.record.diagnostics)
        if diag_ctx.diagnostics:
            context.diag_ctx = diag_ctx
        if self.record.failure is not None:
            diag_ctx.renderer(diag_ctx)
            return
        try:
            diag_ctx.render()
        except DiagnosticError as error:
            error.add_note(f"in pass '{self.record.pass_name}'")
            raise


Command = (
    CallHook
    | RunModulePass
    | RunStage
    | NameFunctions
    | TellVerdicts
    | Reproduce
    | Render
)
