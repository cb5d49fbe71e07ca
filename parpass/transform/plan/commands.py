"""What the plan asks of a driver, and what it is answered."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from parpass.diagnostic import Diagnostic, DiagnosticContext
from parpass.errors import DiagnosticError, add_note
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.context import PassContext
from parpass.transform.debug.bisect import TellVerdicts
from parpass.transform.debug.reproducer import Failure, write_reproducer
from parpass.transform.hooks import Hooks, call_pass_hook
from parpass.transform.passes import Pass
from parpass.transform.saying.emission import Emission, KeptRendering
from parpass.transform.saying.interception import emit_all
from parpass.transform.saying.record import Recorder


def place(pass_name: str, function: str | None) -> str:
    """Return where something went wrong, for a note on an error."""
    if function is None:
        return f"in pass '{pass_name}'"
    return f"in pass '{pass_name}', on function '{function}'"


class StepRecord(msgspec.Struct):
    """What one pass left behind: said, counted, and whether it failed.

    In the order of a serial run: of a failed pass, what the functions up to the
    failing one said. `function` is the one that it failed on, or first reported an
    error on. `emissions` is what is still to be logged and warned of: a body that ran
    in its turn has done so itself.
    """

    pass_name: str
    diagnostics: Sequence[Diagnostic] = ()
    counters: Mapping[str, int] | None = None
    seconds: float = 0.0
    failure: BaseException | None = None
    function: str | None = None
    emissions: Sequence[Emission] = ()

    @classmethod
    def of(
        cls,
        recorder: Recorder,
        began: float,
        failure: BaseException | None = None,
        function: str | None = None,
    ) -> StepRecord:
        """Return the record of a pass that began at a time and has just ended."""
        return cls(
            recorder.pass_name or "",
            recorder.said,
            recorder.counted,
            time.perf_counter() - began,
            failure,
            function,
        )

    @property
    def where(self) -> str:
        """The pass that failed, and the function, as a note on the failure says it."""
        return place(self.pass_name, self.function)

    def fail_at(self, emission: Emission, error: BaseException) -> None:
        """Have the pass have failed where it logged, or warned of, something."""
        self.failure, self.function = error, emission.function
        self.diagnostics = self.diagnostics[: emission.said]


class StageResult(msgspec.Struct, frozen=True):
    """The answer to RunStage and RunModulePass.

    Attributes:
        mod: The new module; of no use if the last record has a failure.
        records: One for each step that was run, up to the first that failed at most.
        began: `time.perf_counter()` before the first step.
        ended: The same after the last.
    """

    mod: Any
    records: Sequence[StepRecord]
    began: float
    ended: float


class CallHook(msgspec.Struct, frozen=True):
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


class RunModulePass(msgspec.Struct, frozen=True, gc=False):
    """Command: run a module pass; the answer is an StageResult with one record."""

    pass_: Pass
    mod: Any


class RunStage(msgspec.Struct, frozen=True):
    """Command: run function-wise passes on all functions; the answer is an StageResult.

    A driver may end it after any step: the plan asks for the others when it is at them.

    `wanted` tells whether somebody will look at the functions right after, `is_last`
    whether no function-wise pass comes after these. `done` is how many passes of the
    same stage were run before these.
    """

    steps: tuple[Pass, ...]
    mod: Any
    wanted: bool
    is_last: bool = False
    done: int = 0

    def first(self, count: int) -> RunStage:
        """Return the command for so many of the steps, for a driver that ends there."""
        if count >= len(self.steps):
            return self
        return RunStage(self.steps[:count], self.mod, wanted=False, done=self.done)


class NameFunctions(msgspec.Struct, frozen=True):
    """Command: the answer is the names of a module's functions, in module order."""

    mod: Any


class Reproduce(msgspec.Struct, frozen=True):
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


class Emit(msgspec.Struct, frozen=True):
    """Command: log, warn and render as a pass did that was not run in its turn.

    What a filter or handler of the user's raises is raised in the pass's body, in a
    serial run. So the answer is None, or where it was raised, and the error.
    """

    record: StepRecord
    mod: Any

    @property
    def shows_module(self) -> bool:
        """Whether somebody is given the module."""
        return any(type(one) is KeptRendering for one in self.record.emissions)

    def emit(self, mod: Any) -> tuple[Emission, Exception] | None:
        """Emit all, up to the first at which something is raised.

        `mod` is the module, as an object, that `self.mod` stands for.
        """
        return emit_all(self.record.emissions, mod)


class Render(msgspec.Struct, frozen=True):
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
            add_note(error, place(self.record.pass_name, None))
            raise


Command = (
    CallHook
    | RunModulePass
    | RunStage
    | NameFunctions
    | TellVerdicts
    | Reproduce
    | Emit
    | Render
)

Plan = Generator[Command, Any, Any]
