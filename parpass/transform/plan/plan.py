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

from collections import Counter, deque
from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from parpass.diagnostic import (
    DiagnosticContext,
    DiagnosticLevel,
    renderer_is_overridden,
)
from parpass.errors import add_note
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.context import PassContext
from parpass.transform.debug.bisect import Gate
from parpass.transform.debug.reproducer import Failure, wants_reproducer
from parpass.transform.instrumentation import Hooks, hooks_of
from parpass.transform.passes import Pass, Sequential
from parpass.transform.plan.commands import (
    CallHook,
    Command,
    Emit,
    NameFunctions,
    Outcome,
    Render,
    Reproduce,
    RunModulePass,
    RunStage,
    StepRecord,
    TellVerdicts,
    place,
)
from parpass.transform.plan.layout import (
    Body,
    Enter,
    Event,
    Impossible,
    Leave,
    Step,
    Whole,
    lay_out,
)
from parpass.transform.saying.record import current_recorder


def hand_up(record: StepRecord) -> None:
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


Plan = Generator[Command, Any, Any]


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
    walk = _Walk(context, lay_out(root, context, adapter), instrumented=instrumented)
    try:
        return (yield from walk.run(mod))
    except Exception as error:
        if walk.calling and walk.opened and wants_reproducer(context, error):
            yield walk.reproduce_hook(walk.calling, error)
        yield from walk.tell_of_failure(error)
        raise
    except BaseException as error:
        # A body that raises SystemExit has failed; a run that is cut short has not.
        if error is walk.failure:
            yield from walk.tell_of_failure(error)
        raise


class _Opened(msgspec.Struct):
    """A pass that has begun, and the instruments that are to learn how it ended.

    Each that was told of the beginning is told of the end once: after, or failed.
    """

    pass_: Pass
    given: Any
    watchers: list[Hooks] = []


class _Walk:
    def __init__(
        self, context: PassContext, program: Sequence[Event], *, instrumented: bool
    ) -> None:
        self.context = context
        self.program = program
        self.instrumented = instrumented
        self.at = 0
        self.opened: list[_Opened] = []
        self.failure: BaseException | None = None  # what a body raised
        self.calling: Hooks | None = None  # whose hook was called last, if no body was
        inside = current_recorder() is not None
        self.gate = None if inside else Gate.of(context)
        self.ready: deque[StepRecord] = deque()  # of steps that were run ahead
        self.given: Any = None  # the module that their stage began with
        self.stage: Sequence[Body] = ()  # that they belong to
        self.asked: RunStage | None = None  # the command for it, without a module
        self.last_step = next((e for e in reversed(program) if type(e) is Step), None)
        self.last = next((e for e in reversed(program) if type(e) is not Leave), None)
        self.ran = 0  # how many of the stage's steps were run
        self.moment: float | None = None  # what the clock shows between those
        self.pace = 0.0  # seconds of the clock for each second in workers

    def run(self, mod: Any) -> Plan:
        program, context = self.program, self.context
        opened, end = self.opened, len(program)
        while self.at < end:
            event = program[self.at]
            self.at += 1
            if type(event) is Enter:
                if not context.instruments:
                    opened.append(_Opened(event.pass_, mod))
                elif not (yield from self._enter(event.pass_, self._shown(mod))):
                    self.at = event.end
            elif type(event) is Leave:
                if context.instruments:
                    yield from self._leave(self._shown(mod))
                else:
                    opened.pop()
            elif type(event) is Impossible:
                self.calling = None
                raise event.error
            else:
                mod = yield from self._body(event, mod)
        return mod

    def _is_within_stage(self) -> bool:
        """Return whether steps are to come of a stage that has begun."""
        return self.ran - len(self.ready) < len(self.stage)

    def _shown(self, mod: Any) -> Any:
        """Return the module that hooks are shown.

        Within a stage nobody observes it but an instrument that has come in between:
        how far the module is then is the driver's matter.
        """
        return self.given if self._is_within_stage() else mod

    def _enter(self, pass_: Pass, mod: Any) -> Generator[Command, Any, bool]:
        should_run = True
        # A step of a stage that has begun may have been run, and cannot be vetoed any
        # more, by an instrument that has come in between.
        if (
            not self._is_within_stage()
            and pass_.info.name not in self.context.required_pass
        ):
            for hooks in self._hooks():
                if hooks.should_run is not None:
                    answer = yield self._hook(hooks, "should_run", pass_, mod)
                    should_run = bool(answer) and should_run
        if should_run:
            opened = _Opened(pass_, mod)
            self.opened.append(opened)
            for hooks in self._hooks():
                if hooks.run_before_pass is not None:
                    yield self._hook(hooks, "run_before_pass", pass_, mod)
                opened.watchers.append(hooks)
        return should_run

    def _leave(self, mod: Any) -> Generator[Command, Any, None]:
        opened = self.opened[-1]
        for hooks in self._hooks():
            if hooks in opened.watchers:
                opened.watchers.remove(hooks)
            if hooks.run_after_pass is not None:
                yield self._hook(hooks, "run_after_pass", opened.pass_, mod)
        self.opened.pop()

    def _body(self, event: Body, mod: Any) -> Plan:
        self.calling = None
        if self.ready:
            record = self._next_record()
        else:
            if isinstance(event, Step):
                outcome: Outcome = yield (yield from self._steps_to_run(event, mod))
            elif self.gate is not None and (yield from self._is_vetoed(event)):
                return mod
            else:
                self.stage, self.given, self.ran = (event,), mod, 0
                outcome = yield RunModulePass(event.pass_, mod)
            mod, record = outcome.mod, outcome.records[0]
            self.ran += len(outcome.records)
            if len(outcome.records) > 1:
                self._go_through(outcome)
        if not self._has_consequences(record):
            return mod
        try:
            yield from self._finish(record)
        except Exception as error:
            if self.instrumented and wants_reproducer(self.context, error):
                yield self._reproduce(event, record, error)
            raise
        return mod

    def _steps_to_run(self, event: Step, mod: Any) -> Generator[Command, Any, RunStage]:
        """Return the command for a stage, or for what a driver has left of it."""
        if self.ran == len(self.stage):
            steps, wanted = self._steps_ahead(event)
            passes = yield from self._let_through(steps, mod)
            self.stage, self.given, self.ran = steps, mod, 0
            ends = steps[-1] is self.last_step, steps[-1] is self.last
            self.asked = RunStage(passes, None, wanted, *ends)
        assert self.asked is not None
        left = self.asked.steps[self.ran :]
        return msgspec.structs.replace(self.asked, steps=left, mod=mod)

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

    def _reproduce(
        self, event: Body, record: StepRecord, error: Exception
    ) -> Reproduce:
        """Return the command for a failed pass.

        If that is one that restores what another pass broke, the other one is to blame,
        so the reproducer begins before that.
        """
        steps: tuple[Pass, ...] = ()
        given, pass_, at = self.given, event.pass_, 0
        if isinstance(event, Step):
            steps = tuple(step.pass_ for step in self.stage)
            at = self.ran - len(self.ready) - 1
            if event.restores is not None:
                pass_ = event.restores
                # Alone in its stage if instruments watch, or bisection numbers.
                steps, given = (
                    (steps, given) if at else ((pass_,), self.opened[-2].given)
                )
                at = max(at - 1, 0)
        failure = Failure(pass_, record.pass_name, record.function, error)
        return Reproduce(steps, at, given, failure)

    def reproduce_hook(self, hooks: Hooks, error: Exception) -> Reproduce:
        """Return the command for an instrument that failed, at the pass around it.

        At a pass that restores what another one broke, the other one is to blame.
        """
        around = self.opened[-1]
        if len(self.opened) > 1 and not isinstance(self.opened[-2].pass_, Sequential):
            around = self.opened[-2]
        instruments = self.context.instruments
        found = next((one for one in instruments if hooks_of(one) is hooks), None)
        name, function = around.pass_.info.name, getattr(error, "function", None)
        failure = Failure(around.pass_, name, function, error, found)
        return Reproduce((), 0, around.given, failure)

    def _go_through(self, outcome: Outcome) -> None:
        """Have the walk go on with the records of several steps, after the first."""
        first, *others = outcome.records
        self.ready.extend(others)
        total = sum([record.seconds for record in outcome.records])
        self.pace = (outcome.ended - outcome.began) / total if total else 0.0
        self.moment = outcome.began + first.seconds * self.pace

    def _next_record(self) -> StepRecord:
        record = self.ready.popleft()
        if not self.ready:
            self.moment = None
        elif self.moment is not None:
            self.moment += record.seconds * self.pace
        return record

    def _has_consequences(self, record: StepRecord) -> bool:
        return bool(
            record.diagnostics
            or record.counters
            or record.emissions
            or record.failure is not None
            or renderer_is_overridden()
        )

    def _finish(self, record: StepRecord) -> Generator[Command, Any, None]:
        if record.emissions:
            failed = yield Emit(record)
            if failed is not None:
                record.fail_at(*failed)
        if not self.instrumented:
            hand_up(record)
        elif record.diagnostics or renderer_is_overridden():
            yield Render(record, self.given)
        if record.failure is not None:
            add_note(record.failure, record.where)
            self.failure = record.failure
            raise record.failure
        if record.counters and self.instrumented:
            totals = self.context.statistics
            totals.setdefault(record.pass_name, Counter()).update(record.counters)

    def _steps_ahead(self, first: Step) -> tuple[tuple[Step, ...], bool]:
        """Return the steps that go together, and whether the module is wanted then."""
        steps = [first]
        hooks = self._hooks()
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

    def _hook(
        self, hooks: Hooks, hook_name: str, pass_: Pass, mod: Any, *args: Any
    ) -> CallHook:
        self.calling = hooks
        seen = mod if hooks.observes_ir else None
        return CallHook(hooks, hook_name, seen, (pass_.info, *args), self.moment)

    def _hooks(self) -> list[Hooks]:
        # Asked anew each time: a hook or a pass may override the instruments.
        instruments = self.context.instruments
        if not instruments or not self.instrumented:
            return []
        return [hooks_of(one) for one in instruments]

    def tell_of_failure(self, error: BaseException) -> Generator[Command, Any, None]:
        """Call the failure hooks of all passes that are open, the innermost first."""
        while self.opened:
            opened = self.opened.pop()
            watchers = [hooks for hooks in self._hooks() if hooks in opened.watchers]
            for hooks in watchers:
                if hooks.run_after_failed_pass is None:
                    continue
                failed = (hooks, "run_after_failed_pass", opened.pass_, opened.given)
                try:
                    yield self._hook(*failed, error)
                except Exception as second:  # noqa: BLE001 -- told with the first error
                    add_note(error, f"then {type(second).__name__}: {second}")


__all__ = [
    "CallHook",
    "Command",
    "Emit",
    "NameFunctions",
    "Outcome",
    "Plan",
    "Render",
    "Reproduce",
    "RunModulePass",
    "RunStage",
    "StepRecord",
    "TellVerdicts",
    "place",
    "plan",
]
