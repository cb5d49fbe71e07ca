"""The plan: defines what running a pass means, without doing any of it.

It decides which passes are enabled, how `required` resolves, when hooks are called, and
what happens on an error. It is a generator that yields commands and is sent their
results. The serial driver (`serial.run_serial`) executes each command in place, the
parallel one (`parpass.runner`) awaits it.

Modules are opaque to the plan: it passes them from one command to the next, so a driver
may keep a module encoded until it is read.

A pipeline is first flattened to events::

    Enter(sequential)
      Enter(FoldConstant) Step(FoldConstant)
        Enter(InferType) Step(InferType) Leave(InferType)
      Leave(FoldConstant)
      Enter(Inline) ModuleStep(Inline) Leave(Inline)
    Leave(sequential)

At a Step the plan looks ahead: the steps up to the next event that needs the whole
module are one stage, if no instrument observes the IR between them. The plan then
interprets the events one by one, in serial order, with the records of the steps that
have run.

For a failed pass the plan yields the command that writes a reproducer. If the restoring
pass fails, the pass after which it runs is at fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from parpass.diagnostic import renderer_is_overridden
from parpass.errors import UnreadFunctionError
from parpass.errors.core import add_note, safe_getattr
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.capture.change import FunctionChange, wants
from parpass.transform.capture.recorder import current_recorder
from parpass.transform.context import PassContext
from parpass.transform.debug.bisect import Gate
from parpass.transform.debug.reproducer import Failure, wants_reproducer
from parpass.transform.instrument_hooks import Hooks, hooks_of
from parpass.transform.passes import Pass, Sequential
from parpass.transform.plan.change_origin import ChangeOrigins
from parpass.transform.plan.commands import (
    CallEventHook,
    CallHook,
    Command,
    Emit,
    NameFunctions,
    Plan,
    Render,
    ReportVerdicts,
    Reproduce,
    RoundTrip,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
)
from parpass.transform.plan.flat_pipeline import (
    Body,
    Enter,
    Event,
    Leave,
    ModuleStep,
    StageCursor,
    Step,
    Unresolved,
    flatten,
)


class ActivePass(msgspec.Struct):
    """A pass that has begun, and the instruments to be notified of its end.

    Each instrument whose before-hook ran has its after-hook or failure hook called
    once. `changes` are those of functions, by name, which no instrument got yet.
    """

    pass_: Pass
    given: Any
    entered: list[Hooks] = []
    changes: dict[str, FunctionChange] = {}

    def add_changes(self, changes: Iterable[FunctionChange]) -> None:
        """Add changes of functions, each to the earlier one of that function, if any.

        The pass that restores invariants changes a function a second time.
        """
        for change in changes:
            earlier = self.changes.get(change.function)
            made = change if earlier is None else earlier.then(change)
            self.changes[change.function] = made


class PassInstrumentor:
    """Yields the commands that call the hooks around passes.

    Args:
        context: The context, with its instruments.
        cursor: The current stage, from which the clock for hooks is computed.
        origins: Gives changes their origin.
        instrumented: Whether hooks are called at all.

    Attributes:
        opened: The passes that have begun, the innermost last.
        calling: The instrument whose hook was called last; None if a body ran since.
    """

    def __init__(
        self,
        context: PassContext,
        cursor: StageCursor,
        origins: ChangeOrigins,
        *,
        instrumented: bool,
    ) -> None:
        self._context = context
        self._origins = origins
        self._cursor = cursor
        self._instrumented = instrumented
        self.opened: list[ActivePass] = []
        self.calling: Hooks | None = None

    def current_hooks(self) -> list[Hooks]:
        """Return the hooks of the current instruments, in order.

        Call it each time: a hook or a pass may override the instruments.
        """
        instruments = self._context.instruments
        if not instruments or not self._instrumented:
            return []
        return [hooks_of(one) for one in instruments]

    def enter(
        self, pass_: Pass, mod: Any, *, may_veto: bool
    ) -> Generator[Command, Any, bool]:
        """Begin a pass; return False if an instrument vetoes it."""
        should_run = True
        if may_veto and pass_.info.name not in self._context.required_pass:
            for hooks in self.current_hooks():
                if hooks.should_run is not None:
                    answer = yield self._call(hooks, "should_run", pass_, mod)
                    should_run = bool(answer) and should_run
        if should_run:
            opened = ActivePass(pass_, mod)
            self.opened.append(opened)
            for hooks in self.current_hooks():
                if hooks.run_before_pass is not None:
                    yield self._call(hooks, "run_before_pass", pass_, mod)
                opened.entered.append(hooks)
        return should_run

    def leave(self, mod: Any) -> Generator[Command, Any, None]:
        """End the innermost pass."""
        opened = self.opened[-1]
        if opened.changes:
            yield from self._tell_changes(opened)
        for hooks in self.current_hooks():
            if hooks in opened.entered:
                opened.entered.remove(hooks)
            if hooks.run_after_pass is not None:
                yield self._call(hooks, "run_after_pass", opened.pass_, mod)
        self.opened.pop()

    def call_failure_hooks(self, error: BaseException) -> Generator[Command, Any, None]:
        """Call the failure hooks of all passes that are open, the innermost first."""
        while self.opened:
            opened = self.opened.pop()
            entered = [
                hooks for hooks in self.current_hooks() if hooks in opened.entered
            ]
            for hooks in entered:
                if hooks.run_after_failed_pass is None:
                    continue
                failed = (hooks, "run_after_failed_pass", opened.pass_, opened.given)
                try:
                    yield self._call(*failed, error)
                except Exception as second:  # noqa: BLE001 -- attached to the first error
                    add_note(error, f"then {type(second).__name__}: {second}")

    def deliver(self, record: StepRecord) -> Generator[Command, Any, None]:
        """Give the remarks of the innermost pass to the instruments, one by one.

        A hook that raises ends the run, unless the pass has failed already.
        """
        info, time = self.opened[-1].pass_.info, self._cursor.hook_time
        for hooks in self.current_hooks():
            if hooks.on_remark is None:
                continue
            self.calling = hooks
            args = info, record.remarks
            try:
                yield CallEventHook(hooks, "on_remark", None, args, time)
            except Exception as error:
                if record.failure is None:
                    raise
                add_note(record.failure, f"then {type(error).__name__}: {error}")
        self.calling = None

    def _tell_changes(self, opened: ActivePass) -> Generator[Command, Any, None]:
        info, time = opened.pass_.info, self._cursor.hook_time
        changes = self._origins.real_changes(opened.pass_, opened.changes.values())
        for hooks in self.current_hooks():
            told = [
                one
                for one in changes
                if wants((hooks.wanted,), info.name, one.function)
            ]
            if hooks.on_function_changed is not None and told:
                self.calling = hooks
                yield CallEventHook(
                    hooks, "on_function_changed", None, (info, told), time
                )

    def _call(
        self, hooks: Hooks, hook_name: str, pass_: Pass, mod: Any, *args: Any
    ) -> CallHook:
        self.calling = hooks
        seen = mod if hooks.observes_ir else None
        return CallHook(
            hooks, hook_name, seen, (pass_.info, *args), self._cursor.hook_time
        )


def reproduce_body(
    event: Body,
    record: StepRecord,
    error: Exception,
    cursor: StageCursor,
    opened: Sequence[ActivePass],
) -> Reproduce:
    """Return the command for a pass whose body failed."""
    steps: tuple[Pass, ...] = ()
    given, pass_, at = cursor.given, event.pass_, 0
    if isinstance(event, Step):
        steps = tuple(step.pass_ for step in cursor.steps)
        at = cursor.at - 1
        if event.restores is not None:
            pass_ = event.restores
            # Alone in its stage if instruments watch, or bisection numbers.
            steps, given = (steps, given) if at else ((pass_,), opened[-2].given)
            at = max(at - 1, 0)
    failure = Failure(pass_, record.pass_name, record.function, error)
    return Reproduce(steps, at, given, failure)


def reproduce_hook(
    hooks: Hooks,
    error: Exception,
    opened: Sequence[ActivePass],
    instruments: Sequence[Any],
) -> Reproduce:
    """Return the command for an instrument that failed, at the pass around it."""
    around = opened[-1]
    if len(opened) > 1 and not isinstance(opened[-2].pass_, Sequential):
        around = opened[-2]
    found = next((one for one in instruments if hooks_of(one) is hooks), None)
    name, function = around.pass_.info.name, safe_getattr(error, "function")
    failure = Failure(around.pass_, name, function, error, found)
    return Reproduce((), 0, around.given, failure)


def plan(
    root: Pass,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    *,
    instrumented: bool = True,
) -> Plan:
    """Yield the commands that run a pass on a module; return the new module.

    Args:
        root: The pass.
        mod: The module.
        context: The settings in force.
        adapter: The adapter of the IR.
        instrumented: Whether the instruments of the context are called.
    """
    walk = _Interpreter(
        context,
        flatten(root, context, adapter),
        ChangeOrigins(adapter, mod),
        instrumented=instrumented,
    )
    instrumentor = walk.instrumentor
    try:
        if adapter.round_trip_between_passes:
            mod = yield RoundTrip(mod)
        return (yield from walk.run(mod))
    except Exception as error:
        if (
            instrumentor.calling
            and instrumentor.opened
            and wants_reproducer(context, error)
        ):
            failed = (instrumentor.calling, error, instrumentor.opened)
            yield reproduce_hook(*failed, context.instruments)
        yield from instrumentor.call_failure_hooks(error)
        raise
    except BaseException as error:
        # A body that raises SystemExit has failed; a run that is cancelled has not.
        if error is walk.failure:
            yield from instrumentor.call_failure_hooks(error)
        raise


class _Interpreter:
    def __init__(
        self,
        context: PassContext,
        program: Sequence[Event],
        origins: ChangeOrigins,
        *,
        instrumented: bool,
    ) -> None:
        self.context = context
        self.program = program
        self.instrumented = instrumented
        self.at = 0
        self.cursor = StageCursor()
        self.instrumentor = PassInstrumentor(
            context, self.cursor, origins, instrumented=instrumented
        )
        self.failure: BaseException | None = None  # the exception of a body
        inside = current_recorder() is not None
        self.gate = None if inside else Gate.of(context)
        self.last_step = next((e for e in reversed(program) if type(e) is Step), None)

    def run(self, mod: Any) -> Plan:
        program, context, instrumentor = self.program, self.context, self.instrumentor
        opened, end = instrumentor.opened, len(program)
        while self.at < end:
            event = program[self.at]
            self.at += 1
            if type(event) is Enter:
                if not context.instruments:
                    opened.append(ActivePass(event.pass_, mod))
                elif not (yield from self._enter(event.pass_, mod)):
                    self.at = event.end
            elif type(event) is Leave:
                if context.instruments:
                    yield from instrumentor.leave(self._shown(mod))
                else:
                    opened.pop()
            elif type(event) is Unresolved:
                instrumentor.calling = None
                raise event.error
            else:
                mod = yield from self._body(event, mod)
        return mod

    def _shown(self, mod: Any) -> Any:
        """Return the module that hooks are passed.

        Within a stage, only an instrument that was added during it observes the module;
        which version it gets depends on the driver.
        """
        return self.cursor.given if self.cursor.has_begun else mod

    def _enter(self, pass_: Pass, mod: Any) -> Generator[Command, Any, bool]:
        # A step of a stage that has begun may have run, and cannot be vetoed any
        # more, by an instrument that was added meanwhile.
        may_veto = not self.cursor.has_begun
        return self.instrumentor.enter(pass_, self._shown(mod), may_veto=may_veto)

    def _body(self, event: Body, mod: Any) -> Plan:
        self.instrumentor.calling = None
        record = self.cursor.next_record()
        if record is None:
            result: StageResult
            if isinstance(event, Step):
                if self.cursor.is_over():
                    yield from self._begin_stage(event, mod)
                result = yield self.cursor.remaining_command(mod)
            elif self.gate is not None and (yield from self._is_vetoed(event)):
                return mod
            else:
                self.cursor.begin((event,), mod)
                result = yield RunModulePass(event.pass_, mod)
            mod, record = result.mod, self.cursor.take(result)
        if record.changes and record.failure is None and self.instrumented:
            restores = isinstance(event, Step) and event.restores is not None
            self.instrumentor.opened[-2 if restores else -1].add_changes(record.changes)
        if not (
            record.diagnostics
            or record.counters
            or record.emissions
            or record.remarks
            or record.failure is not None
            or renderer_is_overridden()
        ):
            return mod
        try:
            yield from self._finish(record)
        except Exception as error:
            is_own = self.instrumented and self.instrumentor.calling is None
            if is_own and wants_reproducer(self.context, error):
                opened = self.instrumentor.opened
                yield reproduce_body(event, record, error, self.cursor, opened)
            raise
        return mod

    def _begin_stage(self, first: Step, mod: Any) -> Generator[Command, Any, None]:
        steps, wanted = self._fusable_steps(first)
        passes: list[Pass] = []
        for step in steps:
            pass_ = step.pass_
            if self.gate is not None and step.is_counted:
                names: Sequence[str] = yield NameFunctions(mod)
                pass_, verdicts = self.gate.on_functions(pass_, names)
                yield ReportVerdicts(verdicts)
            passes.append(pass_)
        is_last = steps[-1] is self.last_step
        self.cursor.begin(steps, mod, RunStage(tuple(passes), mod, wanted, is_last))

    def _is_vetoed(self, event: ModuleStep) -> Generator[Command, Any, bool]:
        assert self.gate is not None
        if not event.is_counted:
            return False
        verdict = self.gate.on_module(event.pass_)
        yield ReportVerdicts([verdict])
        return not verdict.runs

    def _finish(self, record: StepRecord) -> Generator[Command, Any, None]:
        if record.emissions:
            failed = yield Emit(record, self.cursor.given)
            if failed is not None:
                record.fail_at(*failed)
        if not self.instrumented:
            recorder = current_recorder()
            assert recorder is not None
            record.merge_into(recorder)
        else:
            if record.remarks:
                yield from self.instrumentor.deliver(record)
            if record.diagnostics or renderer_is_overridden():
                yield Render(record, self.cursor.given)
        if record.failure is not None:
            if not isinstance(record.failure, UnreadFunctionError):
                add_note(record.failure, record.where)
            self.failure = record.failure
            raise record.failure
        if record.counters and self.instrumented:
            totals = self.context.statistics
            totals.setdefault(record.pass_name, Counter()).update(record.counters)

    def _fusable_steps(self, first: Step) -> tuple[tuple[Step, ...], bool]:
        """Return the steps of one stage, and whether the module is read after them."""
        steps = [first]
        hooks = self.instrumentor.current_hooks()
        observed = any(one.observes_ir for one in hooks)
        # Bisection reports a pass before it runs, so that a crash comes after it.
        alone = (
            observed or self.gate is not None or any(one.should_run for one in hooks)
        )
        for at in range(self.at, len(self.program)):
            event = self.program[at]
            if isinstance(event, Step):
                if alone:
                    return tuple(steps), observed
                steps.append(event)
            elif not isinstance(event, (Enter, Leave)):
                break
        return tuple(steps), True
