"""The plan: what running a pass means, without doing any of it.

Which passes are enabled, how `required` resolves, when each hook is called, what
happens on an error: all of this is here and nowhere else, in a generator that yields
commands and is sent their results. The serial driver (`serial.run_serial`) carries
out each command in place, the parallel one (`parpass.runner`) awaits it.

A module is opaque here: the plan hands it from one command to the next, so a driver is
free to keep it as bytes until somebody looks.

A pipeline is first laid out flat, as events::

    Enter(sequential)
      Enter(FoldConstant) Step(FoldConstant)
        Enter(InferType) Step(InferType) Leave(InferType)
      Leave(FoldConstant)
      Enter(Inline) Whole(Inline) Leave(Inline)
    Leave(sequential)

and then walked through. At a Step the plan looks ahead: the steps up to the next event
that needs the whole module form one stage, if no instrument watches the IR between
them. The walk then goes on, event by event and in the serial order, with the records
of the steps that have been run already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

from parpass.diagnostic import (
    DiagnosticContext,
    DiagnosticLevel,
    renderer_is_overridden,
)
from parpass.errors import UnreadFunctionError, add_note
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.context import PassContext
from parpass.transform.debug.bisect import Gate
from parpass.transform.debug.reproducer import wants_reproducer
from parpass.transform.passes import Pass
from parpass.transform.plan.ahead import Ahead
from parpass.transform.plan.blame import reproduce_body, reproduce_hook
from parpass.transform.plan.commands import (
    Command,
    Emit,
    NameFunctions,
    Plan,
    Render,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
    TellVerdicts,
)
from parpass.transform.plan.events import (
    Body,
    Enter,
    Event,
    Impossible,
    Leave,
    Step,
    Whole,
    events_of,
)
from parpass.transform.plan.watchers import Opened, Watchers
from parpass.transform.saying.record import current_recorder


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
        adapter: How the module is handled.
        instrumented: Whether the context's instruments are called.
    """
    walk = _Walk(context, events_of(root, context, adapter), instrumented=instrumented)
    watchers = walk.watchers
    try:
        return (yield from walk.run(mod))
    except Exception as error:
        if watchers.calling and watchers.opened and wants_reproducer(context, error):
            failed = (watchers.calling, error, watchers.opened)
            yield reproduce_hook(*failed, context.instruments)
        yield from watchers.tell_of_failure(error)
        raise
    except BaseException as error:
        # A body that raises SystemExit has failed; a run that is cut short has not.
        if error is walk.failure:
            yield from watchers.tell_of_failure(error)
        raise


class _Walk:
    def __init__(
        self, context: PassContext, program: Sequence[Event], *, instrumented: bool
    ) -> None:
        self.context = context
        self.program = program
        self.instrumented = instrumented
        self.at = 0
        self.ahead = Ahead()
        self.watchers = Watchers(context, self.ahead, instrumented=instrumented)
        self.failure: BaseException | None = None  # what a body raised
        inside = current_recorder() is not None
        self.gate = None if inside else Gate.of(context)
        self.last_step = next((e for e in reversed(program) if type(e) is Step), None)

    def run(self, mod: Any) -> Plan:
        program, context, watchers = self.program, self.context, self.watchers
        opened, end = watchers.opened, len(program)
        while self.at < end:
            event = program[self.at]
            self.at += 1
            if type(event) is Enter:
                if not context.instruments:
                    opened.append(Opened(event.pass_, mod))
                elif not (yield from self._enter(event.pass_, mod)):
                    self.at = event.end
            elif type(event) is Leave:
                if context.instruments:
                    yield from watchers.leave(self._shown(mod))
                else:
                    opened.pop()
            elif type(event) is Impossible:
                watchers.calling = None
                raise event.error
            else:
                mod = yield from self._body(event, mod)
        return mod

    def _shown(self, mod: Any) -> Any:
        """Return the module that hooks are shown.

        Within a stage nobody observes it but an instrument that has come in between:
        how far the module is then is the driver's matter.
        """
        return self.ahead.given if self.ahead.has_begun else mod

    def _enter(self, pass_: Pass, mod: Any) -> Generator[Command, Any, bool]:
        # A step of a stage that has begun may have been run, and cannot be vetoed any
        # more, by an instrument that has come in between.
        may_veto = not self.ahead.has_begun
        return self.watchers.enter(pass_, self._shown(mod), may_veto=may_veto)

    def _body(self, event: Body, mod: Any) -> Plan:
        self.watchers.calling = None
        record = self.ahead.next_record()
        if record is None:
            result: StageResult
            if isinstance(event, Step):
                if self.ahead.is_over():
                    yield from self._begin_stage(event, mod)
                result = yield self.ahead.what_is_left(mod)
            elif self.gate is not None and (yield from self._is_vetoed(event)):
                return mod
            else:
                self.ahead.begin((event,), mod)
                result = yield RunModulePass(event.pass_, mod)
            mod, record = result.mod, self.ahead.take(result)
        if not _has_consequences(record):
            return mod
        try:
            yield from self._finish(record)
        except Exception as error:
            if self.instrumented and wants_reproducer(self.context, error):
                opened = self.watchers.opened
                yield reproduce_body(event, record, error, self.ahead, opened)
            raise
        return mod

    def _begin_stage(self, first: Step, mod: Any) -> Generator[Command, Any, None]:
        steps, wanted = self._steps_ahead(first)
        passes = yield from self._let_through(steps, mod)
        is_last = steps[-1] is self.last_step
        self.ahead.begin(steps, mod, RunStage(passes, mod, wanted, is_last))

    def _let_through(
        self, steps: Sequence[Step], mod: Any
    ) -> Generator[Command, Any, tuple[Pass, ...]]:
        """Return the passes of a stage, on those functions that bisection lets them."""
        if self.gate is None:
            return tuple([step.pass_ for step in steps])
        passes: list[Pass] = []
        for step in steps:
            pass_ = step.pass_
            if step.is_counted:
                names: Sequence[str] = yield NameFunctions(mod)
                pass_, verdicts = self.gate.on_functions(pass_, names)
                yield TellVerdicts(verdicts)
            passes.append(pass_)
        return tuple(passes)

    def _is_vetoed(self, event: Whole) -> Generator[Command, Any, bool]:
        assert self.gate is not None
        if not event.is_counted:
            return False
        verdict = self.gate.on_module(event.pass_)
        yield TellVerdicts([verdict])
        return not verdict.runs

    def _finish(self, record: StepRecord) -> Generator[Command, Any, None]:
        if record.emissions:
            failed = yield Emit(record, self.ahead.given)
            if failed is not None:
                record.fail_at(*failed)
        if not self.instrumented:
            _hand_up(record)
        elif record.diagnostics or renderer_is_overridden():
            yield Render(record, self.ahead.given)
        if record.failure is not None:
            if not isinstance(record.failure, UnreadFunctionError):
                add_note(record.failure, record.where)
            self.failure = record.failure
            raise record.failure
        if record.counters and self.instrumented:
            totals = self.context.statistics
            totals.setdefault(record.pass_name, Counter()).update(record.counters)

    def _steps_ahead(self, first: Step) -> tuple[tuple[Step, ...], bool]:
        """Return the steps that go together, and whether the module is wanted then."""
        steps = [first]
        hooks = self.watchers.present()
        observed = any(one.observes_ir for one in hooks)
        # Bisection says what will run before it does, so that a crash comes after it.
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


def _has_consequences(record: StepRecord) -> bool:
    return bool(
        record.diagnostics
        or record.counters
        or record.emissions
        or record.failure is not None
        or renderer_is_overridden()
    )


def _hand_up(record: StepRecord) -> None:
    """Count and say what a pass did that was run by the body of another one.

    It may have been run in a worker, so it is told with what that body says itself.

    Raises:
        DiagnosticError: The pass reported errors, and did not raise.
    """
    recorder = current_recorder()
    assert recorder is not None
    recorder.counters.update(record.counters or {})
    for diagnostic in record.diagnostics:
        if diagnostic.level != DiagnosticLevel.ERROR:
            recorder.diag_ctx.emit(diagnostic)
    if record.failure is None:
        said = DiagnosticContext(recorder.diag_ctx.module, lambda _: None)
        said.diagnostics.extend(record.diagnostics)
        said.render()
