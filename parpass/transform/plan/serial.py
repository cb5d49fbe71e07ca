"""The serial driver: executes every command of the plan in place.

It defines what a pipeline does; the parallel driver must agree with it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from parpass.diagnostic import extend_error, renderer_is_overridden
from parpass.errors import BudgetWarning, Hint, HintedMessage, RuntimeUseError
from parpass.errors.warning import warn
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapter_registry import adapter_for, lift_to_module
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.budget import (
    Budget,
    any_limited,
    budgets_of,
    has_enforcer,
)
from parpass.transform.capture.intercept import (
    allowing_capture_here,
    capturing,
    tagging_log_records,
)
from parpass.transform.capture.recorder import (
    Recorder,
    function_pass_body,
    has_error,
    inside_function_pass,
    start_recording,
    stop_recording,
)
from parpass.transform.context import PassContext
from parpass.transform.function_copies import (
    own_module,
    take_in,
    with_members,
)
from parpass.transform.passes import Pass, declared_where
from parpass.transform.plan.commands import (
    Call,
    Command,
    HandOut,
    LeftStep,
    NameFunctions,
    Plan,
    Reproduce,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
    TakeIn,
)
from parpass.transform.plan.invoke import (
    applies_to,
    run_module_pass,
    transform_function,
)
from parpass.transform.plan.plan import plan
from parpass.transform.read_only_functions import ReadOnlyFunctions, read_only_view

# Called with the index of a function and itself, before it is run. It returns the index
# of the next function to be called for; of this one, to leave the pass. It may raise.
Checkpoint = Callable[[int, Any], int]

KnownResult = tuple[Any, Recorder]


class KnownResults(msgspec.Struct, frozen=True):
    """The results of a stage for some functions, known before it runs on the others.

    Attributes:
        by_function: For each step the function after it, and what the pass recorded, by
            the name of the function.
        by_assumption: The functions whose results hold as long as another function
            keeps its signature, by the name of that.
        seconds: The time of each step on all of them.
    """

    by_function: dict[str, Sequence[KnownResult]]
    by_assumption: Mapping[str, Sequence[str]]
    seconds: Sequence[float]

    def after(self, steps: int) -> KnownResults:
        """Return the results of the steps after the first ones."""
        rest = {name: own[steps:] for name, own in self.by_function.items()}
        return KnownResults(rest, self.by_assumption, self.seconds[steps:])

    def of_step(self, step: int) -> Mapping[str, KnownResult]:
        """Return the results of one step."""
        return {name: results[step] for name, results in self.by_function.items()}

    def drop_outdated(self, adapter: ModuleAdapter, mod: Any, made: Any) -> None:
        """Drop results whose assumption a step made wrong: those of later steps.

        Args:
            adapter: Compares signatures.
            mod: The module before the step.
            made: The module after it.
        """
        if not self.by_assumption:
            return
        before, after = adapter.functions(mod), adapter.functions(made)
        for name, relying in self.by_assumption.items():
            if before[name] is after[name]:
                continue
            if not adapter.keeps_signature(before[name], after[name]):
                for one in relying:
                    self.by_function.pop(one, None)


def run_stage_serially(
    steps: Sequence[Pass],
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Checkpoint | None = None,
    *,
    budgets: Sequence[Budget] | None = None,
    analyses: AnalysisManager | None = None,
    known: KnownResults | None = None,
) -> StageResult:
    """Run function-wise passes one after the other, each on all functions.

    It ends before the first pass after which a hook is called or diagnostics are
    rendered, so that emissions of the next one come later; the plan then yields the
    rest.

    By default `budgets` are those of the passes and the context, and `analyses` are
    kept for the stage alone. Of functions that are `known` the results are taken.
    """
    began = time.perf_counter()
    records: list[StepRecord] = []
    if analyses is None:
        analyses = AnalysisManager(context, adapter)
    if budgets is None:
        budgets = budgets_of(steps, context.config)
        for pass_ in steps:
            declared_where(pass_)  # raises what a run with workers would
    warn_of_unenforced(budgets)
    # Computed before the bodies run, in which no instruments are visible.
    is_watched = bool(context.instruments) or renderer_is_overridden()
    left: LeftStep | None = None
    with function_pass_body(), tagging_log_records, analyses:
        for at, (pass_, budget) in enumerate(zip(steps, budgets, strict=True)):
            step = _SerialStep(pass_, budget, mod, context, adapter, analyses)
            left = step.run(checkpoint, {} if known is None else known.of_step(at))
            if left is not None:
                break
            made, record = step.outcome()
            if known is not None:
                known.drop_outdated(adapter, mod, made)
            mod = made
            records.append(record)
            if is_watched or record.diagnostics or record.failure is not None:
                break
    return StageResult(mod, records, began, time.perf_counter(), left)


def warn_of_unenforced(budgets: Sequence[Budget]) -> None:
    """Warn of limits that nothing enforces where passes are about to run here."""
    if not any_limited(budgets) or inside_function_pass() or has_enforcer():
        return
    found = {
        one.name for budget in budgets for one, _ in budget.items() if not one.clock
    }
    for name in sorted(found):
        warn(
            HintedMessage(
                f"{name} is enforced only in workers, but this pass runs in this "
                "process; ",
                Hint.IN_WORKERS,
            ),
            BudgetWarning,
        )


def ends_stage(record: StepRecord) -> bool:
    """Return whether the passes after this one do not run."""
    diagnostics = record.diagnostics
    return record.failure is not None or (bool(diagnostics) and has_error(diagnostics))


class _SerialStep:
    """One function-wise pass on the functions of a module, in this process."""

    def __init__(
        self,
        pass_: Pass,
        budget: Budget,
        mod: Any,
        context: PassContext,
        adapter: ModuleAdapter,
        analyses: AnalysisManager,
    ) -> None:
        self._began = time.perf_counter()
        self._pass, self._budget, self._analyses = pass_, budget, analyses
        self._mod, self._context, self._adapter = mod, context, adapter
        self._failure: BaseException | None = None
        self._failed_on: str | None = None
        self._changed: dict[str, Any] = {}
        self._recorders: dict[int, Recorder] = {}
        # Of the pass; a body sees its own diagnostics only.
        self._recorder: Recorder

    def run(
        self,
        checkpoint: Checkpoint | None,
        known: Mapping[str, KnownResult],
    ) -> LeftStep | None:
        """Run the pass on the functions in order, up to the one at which it is left."""
        pass_, adapter, context = self._pass, self._adapter, self._context
        pass_name, budget = pass_.info.name, self._budget
        functions = adapter.functions(self._mod)
        shown = ReadOnlyFunctions(functions, pass_name, adapter)
        view = read_only_view(adapter, self._mod, shown)
        analyses = self._analyses
        analyses.share(self._mod, view)
        self._recorder = recorder = Recorder(view, pass_name)
        stop = len(functions) if checkpoint is None else 0
        for at, (name, function) in enumerate(functions.items()):
            result = function
            if name in known:
                result, own = known[name]
            else:
                if at >= stop and checkpoint is not None:
                    stop = checkpoint(at, function)
                    if stop == at:
                        return LeftStep(at, self._changed, self._recorders, self._began)
                own = Recorder(view, pass_name, analyses)
                own.diagnostics_before = len(recorder.diagnostics)
                own.remarks_before = len(recorder.remarks)
                try:
                    if not applies_to(pass_, function, adapter):
                        continue
                    token = start_recording(own)
                    try:
                        result = transform_function(
                            pass_, name, function, view, context, adapter, budget
                        )
                    finally:
                        stop_recording(token)
                except BaseException as error:  # noqa: BLE001 -- raised by the plan
                    self._failure, self._failed_on = error, name
            if not own.is_empty:
                self._note(at, name, own)
            if self._failure is not None:
                extend_error(self._failure, own.diagnostics, recorder.diagnostics)
                break
            if result is not function:
                self._changed[name] = result
        return None

    def _note(self, at: int, name: str, own: Recorder) -> None:
        """Add to the record of the pass what it recorded on a function."""
        self._recorders[at] = own
        self._recorder.take_over(own)
        if self._failed_on is None and has_error(own.diagnostics):
            self._failed_on = name

    def outcome(self) -> tuple[Any, StepRecord]:
        """Return the module and the record."""
        began, failed_on, recorder = self._began, self._failed_on, self._recorder
        record = StepRecord.of(recorder, began, self._failure, failed_on)
        if record.counters and self._context.function_statistics is not None:
            names = list(self._adapter.functions(self._mod))
            record.function_counters = {
                names[at]: own.counted
                for at, own in self._recorders.items()
                if own.counted
            }
        made = with_members(self._adapter, self._mod, self._changed)
        if len(self._analyses):
            if not self._changed:
                self._analyses.share(recorder.module, made)
            self._analyses.retain([made, *self._adapter.functions(made).values()])
        return made, record


def run_serial(root: Pass, given: Any) -> Any:
    """Run a pass on a module in this thread, under the current context."""
    context = PassContext.current()
    mod, unwrap = lift_to_module(given)
    adapter = adapter_for(root, mod)
    commands = plan(root, mod, context, adapter)
    analyses = AnalysisManager(context, adapter)

    def carry_out(command: Command) -> Any:
        return execute_serially(command, context, adapter, analyses)

    return unwrap(drive_plan(commands, commands.__next__, carry_out))


class Suspended(msgspec.Struct, frozen=True):
    """The result of a command that is not there yet: the awaitable for it."""

    answer: Callable[[], Awaitable[Any]]


def drive_plan(
    commands: Plan,
    advance: Callable[[], Command],
    carry_out: Callable[[Command], Any],
) -> Any:
    """Execute the commands of a plan in place; return the new module.

    `advance` resumes the plan, up to its next command. If `carry_out` returns a
    `Suspended`, that is returned, for a driver that awaits it.
    """
    try:
        with tagging_log_records:  # here, since of module passes each would pay for it
            command = advance()
            while True:
                try:
                    answer = carry_out(command)
                except BaseException as error:  # noqa: BLE001 -- the plan raises it again
                    command = commands.throw(error)
                    continue
                if type(answer) is Suspended:
                    return answer
                command = commands.send(answer)
    except StopIteration as end:
        return end.value


def execute_serially(
    command: Command,
    context: PassContext,
    adapter: ModuleAdapter,
    analyses: AnalysisManager,
) -> Any:
    match command:
        case RunModulePass():
            return _run_module_pass(command, context, adapter, analyses)
        case RunStage():
            about = command.steps, command.mod, context, adapter
            return run_stage_serially(*about, analyses=analyses)
        case Call():
            return command.call(command.mod)
        case TakeIn():
            return take_in(adapter, command.mod)
        case HandOut():
            return own_module(adapter, command.mod)
        case NameFunctions():
            return list(adapter.functions(command.mod))
        case Reproduce():
            return _reproduce(command, context, adapter)


def _reproduce(
    command: Reproduce, context: PassContext, adapter: ModuleAdapter
) -> None:
    before, mod = command.steps[: command.at], command.mod
    with (
        allowing_capture_here(),
        capturing(),
    ):  # all that is emitted has been emitted before
        while before:
            result = run_stage_serially(before, mod, context, adapter)
            mod, before = result.mod, before[len(result.records) :]
            if ends_stage(result.records[-1]):
                break
    command.write(mod, context, adapter)


def _run_module_pass(
    command: RunModulePass,
    context: PassContext,
    adapter: ModuleAdapter,
    analyses: AnalysisManager,
) -> StageResult:
    answer = run_module_pass(command.pass_, command.mod, context, adapter, analyses)
    if isinstance(answer, StageResult):
        return answer
    answer.close()
    error = RuntimeUseError(
        f"module pass '{command.pass_.info.name}' is async, and nothing here can wait "
        "for it; use 'await parpass.run_pipeline(mod, ...)' or "
        "'parpass.run_pipeline_sync(mod, ...)'"
    )
    return answer.finish(None, error)
