"""The commands that the plan yields to a driver, and the results that it is sent."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from parpass.diagnostic import Diagnostic, DiagnosticContext, DiagnosticLevel
from parpass.errors import DiagnosticError
from parpass.errors.core import add_note
from parpass.remark import Remark
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.capture.change import AnyChange
from parpass.transform.capture.emission import Emission
from parpass.transform.capture.intercept import emit_all
from parpass.transform.capture.recorder import Recorder
from parpass.transform.context import PassContext
from parpass.transform.debug.reproducer import Failure, write_reproducer
from parpass.transform.instrument_hooks import (
    Hooks,
    call_event_hook,
    call_pass_hook,
    replayed_time,
)
from parpass.transform.passes import Pass
from parpass.transform.variable_setting import setting


def describe_location(pass_name: str, function: str | None) -> str:
    if function is None:
        return f"in pass '{pass_name}'"
    return f"in pass '{pass_name}', on function '{function}'"


class StepRecord(msgspec.Struct):
    """The effects of one pass: diagnostics, counters, emissions, and its failure.

    They are those of a serial run: of a failed pass, the diagnostics of functions up to
    the failing one, and likewise the remarks. `function` is the one that it failed on,
    or first reported an error on. `emissions` are those that the plan has still to
    emit; a body that ran in its turn has emitted its own. `function_counters` are the
    counters of each function, by its name, where the context keeps them apart.
    """

    pass_name: str
    diagnostics: Sequence[Diagnostic] = ()
    counters: Mapping[str, int] | None = None
    seconds: float = 0.0
    failure: BaseException | None = None
    function: str | None = None
    emissions: Sequence[Emission] = ()
    remarks: Sequence[Remark] = ()
    changes: Sequence[AnyChange] = ()
    function_counters: Mapping[str, Mapping[str, int]] | None = None

    @classmethod
    def of(
        cls,
        recorder: Recorder,
        began: float,
        failure: BaseException | None = None,
        function: str | None = None,
    ) -> StepRecord:
        """Return the record of a pass that ends now, and `began` by `perf_counter`."""
        return cls(
            recorder.pass_name or "",
            recorder.diagnostics,
            recorder.counted,
            time.perf_counter() - began,
            failure,
            function,
            remarks=recorder.remarks,
            changes=recorder.changes,
        )

    @property
    def where(self) -> str:
        return describe_location(self.pass_name, self.function)

    def fail_at(self, emission: Emission, error: BaseException) -> None:
        """Set the failure of the pass at one of its emissions."""
        self.failure, self.function = error, emission.function
        self.diagnostics = self.diagnostics[: emission.diagnostic_count]
        self.remarks = self.remarks[: emission.remark_count]

    def merge_into(self, recorder: Recorder) -> None:
        """Add the effects of a nested pass to those of the outer body.

        The outer body may run in a worker, so the nested pass emits nothing itself.

        Raises:
            DiagnosticError: The pass reported errors, and did not raise.
        """
        recorder.counters.update(self.counters or {})
        if self.remarks:
            recorder.add_remarks(self.remarks)
        for diagnostic in self.diagnostics:
            if diagnostic.level != DiagnosticLevel.ERROR:
                recorder.diag_ctx.emit(diagnostic)
        if self.failure is None:
            diag_ctx = DiagnosticContext(recorder.diag_ctx.module, lambda _: None)
            diag_ctx.diagnostics.extend(self.diagnostics)
            diag_ctx.render()


class LeftStep(msgspec.Struct, frozen=True):
    """A pass that was left before it had run on all functions.

    Attributes:
        count: How many functions, from the first on, it has run on.
        changed: Those of them that it changed, by name.
        recorders: What it recorded on them, by index; of most, nothing.
        began: `time.perf_counter()` before the first of them.
    """

    count: int
    changed: Mapping[str, Any]
    recorders: Mapping[int, Recorder]
    began: float


class StageResult(msgspec.Struct, frozen=True):
    """The result of RunStage and RunModulePass.

    Attributes:
        mod: The new module; meaningless if the last record has a failure.
        records: The records of the steps that ran: at most up to the first that failed.
        began: `time.perf_counter()` before the first step.
        ended: `time.perf_counter()` after the last step.
        left: The step after these that was left, for a driver that goes on with it.
    """

    mod: Any
    records: Sequence[StepRecord]
    began: float
    ended: float
    left: LeftStep | None = None


class Call(msgspec.Struct, frozen=True):
    """Command: call something with a module; the result is what that returns.

    `mod` is None if the module is not looked at.
    """

    mod: Any

    def call(self, mod: Any) -> Any:
        """Make the call with the module that `self.mod` refers to, as an object."""
        raise NotImplementedError


class CallHook(Call, frozen=True):
    """Command: call a hook of an instrument.

    `hook_time` is the time that instruments read during the call, None for the real
    one.
    """

    hooks: Hooks
    hook_name: str
    args: tuple[Any, ...]
    hook_time: float | None

    def call(self, mod: Any) -> Any:
        if self.hook_time is None:
            return self._call(mod)
        with setting(replayed_time, self.hook_time):
            return self._call(mod)

    def _call(self, mod: Any) -> Any:
        return call_pass_hook(self.hooks, self.hook_name, mod, *self.args)


class CallEventHook(CallHook, frozen=True):
    """Command: call a hook for each of some remarks, or changes, of a pass.

    `args` are the PassInfo, and these.
    """

    def _call(self, mod: Any) -> None:
        del mod
        info, events = self.args
        for event in events:
            call_event_hook(self.hooks, self.hook_name, info, event)


class TakeIn(msgspec.Struct, frozen=True):
    """Command: take in the caller's module, which stays as it is.

    The result is a module for the run, whose functions have been through the codec if
    the adapter has `round_trip_between_passes`.
    """

    mod: Any


class HandOut(msgspec.Struct, frozen=True):
    """Command: copy what the run has of functions that can be changed, for the caller.

    The result is a module.
    """

    mod: Any


class RunModulePass(msgspec.Struct, frozen=True, gc=False):
    """Command: run a module pass; the result is a StageResult with one record."""

    pass_: Pass
    mod: Any


class RunStage(msgspec.Struct, frozen=True):
    """Command: run function-wise passes on all functions; the result is a StageResult.

    A driver may end the stage after any step; the plan then yields a command for the
    rest.

    `wanted` is whether the functions are read right after the stage, `is_last` whether
    no function-wise pass comes after it. `done` is the number of passes of the same
    stage that earlier commands ran. `is_restoring` is whether the first step restores
    the IR's invariants after the last step of an earlier command.
    """

    steps: tuple[Pass, ...]
    mod: Any
    wanted: bool
    is_last: bool = False
    done: int = 0
    is_restoring: bool = False

    def first(self, count: int) -> RunStage:
        """Return the command for the first steps, for a driver that ends there."""
        if count >= len(self.steps):
            return self
        steps = self.steps[:count]
        return msgspec.structs.replace(self, steps=steps, wanted=False, is_last=False)


class NameFunctions(msgspec.Struct, frozen=True):
    """Command: the result is the names of a module's functions, in module order."""

    mod: Any


class Reproduce(msgspec.Struct, frozen=True):
    """Command: write a reproducer, of the module as it was before a step.

    Attributes:
        steps: The function-wise passes of the stage; empty if a module pass failed.
        at: The index of the failed step.
        mod: The module before all steps.
    """

    steps: tuple[Pass, ...]
    at: int
    mod: Any
    failure: Failure

    def write(self, mod: Any, context: PassContext, adapter: ModuleAdapter) -> None:
        """Write the reproducer; `mod` is the module as it was before the step."""
        write_reproducer(self.failure, mod, context, adapter)


class Emit(Call, frozen=True):
    """Command: emit the log records and warnings of a pass that ran out of its turn.

    In a serial run, an error of a filter or handler is raised in the body of the pass.
    So the result is None, or the emission at which the error was raised, and the error.
    Only diagnostics that are rendered need the module.
    """

    emissions: Sequence[Emission]

    def call(self, mod: Any) -> tuple[Emission, Exception] | None:
        return emit_all(self.emissions, mod)


class Render(Call, frozen=True):
    """Command: render the diagnostics of a pass.

    Raises:
        DiagnosticError: The pass reported errors.
    """

    record: StepRecord
    context: PassContext

    def call(self, mod: Any) -> None:
        diag_ctx = DiagnosticContext(mod)
        diag_ctx.diagnostics.extend(self.record.diagnostics)
        if diag_ctx.diagnostics:
            self.context.diag_ctx = diag_ctx
        if self.record.failure is not None:
            diag_ctx.renderer(diag_ctx)
            return
        try:
            diag_ctx.render()
        except DiagnosticError as error:
            add_note(error, describe_location(self.record.pass_name, None))
            raise


Command = Call | TakeIn | HandOut | RunModulePass | RunStage | NameFunctions | Reproduce

Plan = Generator[Command, Any, Any]
