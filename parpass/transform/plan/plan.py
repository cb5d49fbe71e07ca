"""The plan: defines what running a pass means, without doing any of it.

It decides which passes are enabled, how `required` resolves, when hooks are called, and
what happens on an error. It is a generator that yields commands and is sent their
results. The serial driver (`serial.run_serial`) executes each command in place, the
parallel one (`parpass.runner`) awaits it.

Modules are opaque to the plan: it passes them from one command to the next, so a driver
may keep a module encoded until it is read.

A pipeline is first flattened to events::

    Enter(sequential)
      Enter(FoldConstant) Body(FoldConstant)
        Enter(InferType) Body(InferType) Leave(InferType)
      Leave(FoldConstant)
      Enter(Inline) Body(Inline) Leave(Inline)
    Leave(sequential)

The body of a pass that works function by function is a step. There the plan looks
ahead: the steps up to the next event that needs the whole module are one stage, if no
instrument observes the IR between them. The plan then interprets the events one by one,
in serial order, with the records of the steps that have run.

For a failed pass the plan yields the command that writes a reproducer. If the restoring
pass fails, the pass after which it runs is at fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, TypeGuard

from parpass.diagnostic import renderer_is_overridden
from parpass.errors import UnreadFunctionError
from parpass.errors.core import add_note, safe_getattr
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.capture.emission import BufferedRendering
from parpass.transform.capture.recorder import current_recorder, inside_function_pass
from parpass.transform.context import PassContext
from parpass.transform.debug.bisect import Gate, report
from parpass.transform.debug.reproducer import Failure, wants_reproducer
from parpass.transform.instrument_hooks import Hooks, hooks_of
from parpass.transform.mutability import FoundMutability
from parpass.transform.passes import Pass, Sequential
from parpass.transform.plan.commands import (
    Command,
    Emit,
    HandOut,
    NameFunctions,
    Plan,
    Render,
    Reproduce,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
    TakeIn,
)
from parpass.transform.plan.flat_pipeline import (
    Body,
    Enter,
    Event,
    Leave,
    StageCursor,
    Unresolved,
    flatten,
)
from parpass.transform.plan.pass_instrumentor import ActivePass, PassInstrumentor
from parpass.transform.plan.unknown_names import warn_of_unknown_names


def reproduce_body(
    event: Body,
    record: StepRecord,
    error: Exception,
    cursor: StageCursor,
    opened: Sequence[ActivePass],
) -> Reproduce:
    steps: tuple[Pass, ...] = ()
    given, pass_, at = cursor.given, event.pass_, 0
    if event.pass_.is_functionwise:
        steps = tuple(step.pass_ for step in cursor.steps)
        at = cursor.completed - 1
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


def plan(root: Pass, mod: Any, context: PassContext, adapter: ModuleAdapter) -> Plan:
    """Yield the commands that run a pass on a module; return the new module."""
    walk = _Interpreter(context, flatten(root, context, adapter), adapter, mod)
    instrumentor = walk.instrumentor
    if walk.is_outermost:
        warn_of_unknown_names(root, context, adapter)
    try:
        copies = isinstance(adapter.mutability, FoundMutability)
        given = mod
        if copies or adapter.round_trip_between_passes:
            mod = yield TakeIn(mod)
        begun, mod = mod, (yield from walk.run(mod))
        if not copies:
            return mod
        return given if mod is begun else (yield HandOut(mod))
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
    finally:
        if walk.instrumented and context.change_watch is not None:
            context.change_watch.forget()


def _is_step(event: Event) -> TypeGuard[Body]:
    return type(event) is Body and event.pass_.is_functionwise


class _Interpreter:
    def __init__(
        self,
        context: PassContext,
        program: Sequence[Event],
        adapter: ModuleAdapter,
        given: Any,
    ) -> None:
        self.context = context
        self.program = program
        self.instrumented = not inside_function_pass()
        self.is_outermost = self.instrumented and current_recorder() is None
        self.at = 0
        self.cursor = StageCursor()
        self.instrumentor = PassInstrumentor(context, self.cursor, adapter, given)
        self.failure: BaseException | None = None  # the exception of a body
        self.gate = Gate.of(context) if self.is_outermost else None
        self.last_step = next(filter(_is_step, reversed(program)), None)

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
            if event.pass_.is_functionwise:
                if not self.cursor.has_begun:
                    yield from self._begin_stage(event, mod)
                result = yield self.cursor.remaining_command(mod)
            elif event.is_counted and not self._may_run(event.pass_):
                return mod
            else:
                self.cursor.begin((event,), mod)
                result = yield RunModulePass(event.pass_, mod)
            mod, record = result.mod, self.cursor.take(result)
        if record.changes and record.failure is None and self.instrumented:
            of = -1 if event.restores is None else -2
            self.instrumentor.opened[of].add_changes(record.changes)
            record.changes = ()  # the record may be kept, and they have functions
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

    def _begin_stage(self, first: Body, mod: Any) -> Generator[Command, Any, None]:
        steps, wanted = self._fusable_steps(first)
        passes: list[Pass] = []
        for step in steps:
            pass_ = step.pass_
            if self.gate is not None and step.is_counted:
                names: Sequence[str] = yield NameFunctions(mod)
                pass_, verdicts = self.gate.on_functions(pass_, names)
                report(verdicts)
            passes.append(pass_)
        command = RunStage(
            tuple(passes),
            mod,
            wanted,
            is_last=steps[-1] is self.last_step,
            is_restoring=first.restores is not None,
        )
        self.cursor.begin(steps, mod, command)

    def _may_run(self, module_pass: Pass) -> bool:
        if self.gate is None:
            return True
        verdict = self.gate.on_module(module_pass)
        report([verdict])
        return verdict.runs

    def _finish(self, record: StepRecord) -> Generator[Command, Any, None]:
        if record.emissions:
            failed = yield Emit(self._rendered(record), record.emissions)
            if failed is not None:
                record.fail_at(*failed)
        if not self.instrumented:
            recorder = current_recorder()
            if recorder is not None:  # else it is the affair of an adapter
                record.merge_into(recorder)
        else:
            if record.remarks:
                yield from self.instrumentor.deliver(record)
            if record.diagnostics or renderer_is_overridden():
                yield Render(self.cursor.given, record, self.context)
        if record.failure is not None:
            if not isinstance(record.failure, UnreadFunctionError):
                add_note(record.failure, record.where)
            self.failure = record.failure
            raise record.failure
        if record.counters and self.instrumented:
            totals = self.context.statistics
            totals.setdefault(record.pass_name, Counter()).update(record.counters)
            self._keep_function_counters(record)

    def _rendered(self, record: StepRecord) -> Any:
        """Return the module that emissions of a pass are rendered with, if some are."""
        is_needed = any(type(one) is BufferedRendering for one in record.emissions)
        return self.cursor.given if is_needed else None

    def _keep_function_counters(self, record: StepRecord) -> None:
        kept = self.context.function_statistics
        if kept is not None and record.function_counters:
            functions = kept.setdefault(record.pass_name, {})
            for name, counters in record.function_counters.items():
                functions.setdefault(name, Counter()).update(counters)

    def _fusable_steps(self, first: Body) -> tuple[tuple[Body, ...], bool]:
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
            if isinstance(event, (Enter, Leave)):
                continue
            if not _is_step(event):
                break
            if alone:
                return tuple(steps), observed
            steps.append(event)
        return tuple(steps), True
