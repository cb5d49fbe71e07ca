"""The interpreter of a stage: it runs the passes on one function at a time.

It runs in a worker and, for small work, in the process of the caller. Each pass gets
what a serial run gives it: the function after the earlier passes, and a module in which
the other functions have been through the same passes. Versions of other functions are
made on demand, and cached (`versions`).

A pass may leave something with the module that it was given, such as an analysis, and
then not read the module for the next function. What it leaves may be of the module, or
of the function that it ran on. So the module of a function that relied on an
assumption, in this step or an earlier one, is not given to other functions. A module
that was scanned as a whole is an exception, since scanning again is expensive: the
functions that get it inherit its dependencies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from parpass.errors.core import add_note
from parpass.runner.ipc.function_outcome import (
    ANY_FUNCTION,
    AbandonedError,
    Cutoff,
    Effects,
    FunctionOutcome,
    Read,
    Recording,
    Verdicts,
)
from parpass.runner.ipc.status_board import StatusSlot
from parpass.runner.stage.content_bytes import content_bytes, store_codec_of
from parpass.runner.stage.module_view import FunctionView, Reads
from parpass.runner.stage.versions import FunctionVersions
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.adapter import keep_inline
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.budget import (
    budgets_of,
    report_skipped,
)
from parpass.transform.capture.change import ChangeWatch
from parpass.transform.capture.intercept import EmissionBuffer, capturing
from parpass.transform.capture.recorder import (
    Recorder,
    recording,
    start_recording,
    stop_recording,
)
from parpass.transform.config import OnFailure, optimizations_in
from parpass.transform.passes import restoring_after
from parpass.transform.plan.commands import describe_location
from parpass.transform.plan.invoke import applies_to, transform_function
from parpass.transform.read_only_functions import read_only_view

_View = tuple[Any, FunctionView]  # the module at the start of a step, and its functions

_MOST_ANALYSED = 64  # objects besides the functions that passes run on


class FunctionCursor:
    """The progress of one function through the steps of a stage.

    Attributes:
        index: Its index in the module.
        original: The function at the start of the stage, if its first step ran by this.
        outcome: Its outcome; it has dependencies and reads once all steps have run.
        dependencies: The dependencies and reads of the steps so far.
    """

    __slots__ = ("dependencies", "index", "name", "original", "outcome")

    def __init__(self, name: str, index: int) -> None:
        self.name, self.index = name, index
        self.outcome = FunctionOutcome(None)
        self.original: Any = None
        self.dependencies: set[int | Read] = set()


class StageInterpreter:
    """Runs the steps of a stage on single functions; owns the versions of functions.

    Args:
        module: The module, which gives all but the functions.
        names: The names of all functions, in module order.
        load: Returns a function as it was at the start of the stage.
        slot: The status slot of a worker; None in the process of the caller.
        is_restoring: Whether the first step restores the IR's invariants after a pass
            of an earlier stage.
        unstable: The names of functions that are not assumed to keep their signatures.

    Attributes:
        cutoff: The end of the stage, as far as it is known.
        prints_changes: Whether changes that are wanted are printed when the steps have
            run, as far as they are whole; else the driver of the run prints them.
        quarantined: The calls that are not made, since they killed a worker or hung.
        versions: The versions of functions that passes read.
    """

    def __init__(
        self,
        steps: Sequence[Pass],
        context: PassContext,
        adapter: ModuleAdapter,
        module: Any,
        names: Sequence[str],
        load: Callable[[str], Any],
        slot: StatusSlot | None = None,
        *,
        is_restoring: bool = False,
        unstable: Collection[str] = (),
        recording: Recording = Recording.NOTHING,
    ) -> None:
        self._steps = steps
        self._context = context
        self.adapter = adapter
        self._load = load
        self._slot = slot
        self._budgets = budgets_of(steps, context.config)
        self.cutoff = Cutoff(len(steps) - 1)
        self.quarantined: Verdicts = {}
        self._records_results = recording >= Recording.RESULTS
        self._codec = store_codec_of(adapter, module) if self._records_results else None
        self._analyses = AnalysisManager(context, adapter)
        kept = optimizations_in(context.config).stable_signatures
        self.versions = FunctionVersions(
            adapter,
            names,
            load,
            self._run_without_effects,
            slot,
            self._analyses,
            steps=len(steps),
            unstable=unstable if kept else names,
            records_reads=recording >= Recording.READS,
        )
        self._in_progress: dict[str, Any] = {}  # functions that have results
        self._module = module
        self._views: dict[int, _View] = {}
        self.prints_changes = True
        self._printed: Sequence[tuple[int, ...]] = ()  # steps whose changes are
        if context.change_watch is not None:
            self._printed = [*self._whole_changes(is_restoring)]

    def close(self) -> None:
        """Drop the modules that passes were given, and what else refers to this.

        That is a cycle, which reference counts do not free.
        """
        self._views.clear()
        self.versions.close()
        self._analyses.retain(())

    def steps_on(self, name: str) -> int:
        return self.cutoff.steps_on(self.versions.index[name])

    def run(
        self,
        cursors: Sequence[FunctionCursor],
        after_step: Callable[[FunctionCursor], object] | None = None,
    ) -> None:
        """Run the steps on functions, each step on all of them in turn.

        `after_step` is called with the cursor after each step on a function.
        """
        with capturing() as emissions:
            for at in range(len(self._steps)):
                for cursor in cursors:
                    if at < self.cutoff.steps_on(cursor.index):
                        self._step(cursor, at, emissions)
                        if after_step is not None:
                            after_step(cursor)
            if self.prints_changes and self._context.change_watch is not None:
                self._print_changes(cursors, self._context.change_watch)
        for cursor in cursors:
            self.versions.put_dependencies(cursor.dependencies, cursor.outcome)

    def _whole_changes(self, is_restoring: bool) -> Iterator[tuple[int, ...]]:
        """Yield the steps whose changes are one: a pass, with the one that restores.

        Where one of the two is in another stage, the caller prints their change.
        """
        at = int(is_restoring)
        while at < len(self._steps):
            step = self._steps[at]
            restoring = self.adapter.restoring_pass(step.function_kind)
            is_restored = restoring_after(step, restoring) is not None
            end = at + 1 + is_restored
            if end <= len(self._steps):
                yield tuple(range(at, end))
            at = end

    def _print_changes(
        self, cursors: Sequence[FunctionCursor], watch: ChangeWatch
    ) -> None:
        for cursor in cursors:
            outcome, effects = cursor.outcome, dict(cursor.outcome.effects)
            for steps in self._printed:
                parts = [at for at in steps if at in effects and effects[at].changes]
                if not parts:
                    continue
                if self._slot is not None:  # a printer may hang as well as a pass
                    self._slot.write(cursor.index, parts[0])
                changes = [one for at in parts for one in effects[at].changes]
                change = watch.printed(changes, self.adapter)
                for at in parts:
                    own = [change] if change.is_real and at == parts[0] else ()
                    effects[at] = msgspec.structs.replace(effects[at], changes=own)
            outcome.effects = effects
        watch.forget()

    # A tiny function takes a pass some microseconds, so this asks for little that is
    # seldom there.

    def _step(self, cursor: FunctionCursor, at: int, emissions: EmissionBuffer) -> None:
        name, outcome = cursor.name, cursor.outcome
        self.versions.dependencies = cursor.dependencies
        if not at:
            cursor.original = outcome.function = self._load(name)
        before, began = outcome.function, time.perf_counter()
        if self._slot is not None:
            self._slot.write(cursor.index, at)
        view = self._view(at)
        recorder = Recorder(view[0], view[1].reader, self._analyses)
        self._run(at, name, outcome, recorder, view)
        outcome.seconds = (*outcome.seconds, time.perf_counter() - began)
        emitted, result = emissions.take(), None
        if self._records_results and outcome.failure is None:
            is_same = at > 0 and outcome.function is before
            result = (
                outcome.effects[at - 1].result
                if is_same
                else self._digest(outcome.function)
            )
        if emitted or result is not None or not recorder.is_empty:
            effects = Effects.of(recorder, emitted, result)
            outcome.effects = {**outcome.effects, at: effects}
        if outcome.effects or outcome.failure is not None:
            cutoff = outcome.cutoff(cursor.index)
            if cutoff is not None:
                self.cutoff = min(self.cutoff, cutoff)
        if len(self._analyses):
            self._drop_unused_analyses(name, outcome)

    def _run(
        self,
        at: int,
        name: str,
        outcome: FunctionOutcome,
        recorder: Recorder,
        view: _View,
    ) -> None:
        before, token = outcome.function, start_recording(recorder)
        try:
            after = self._apply(at, name, before, view)
            if after is not before:
                self._put(outcome, before, after)
        except AbandonedError:
            raise
        except BaseException as error:
            if self._slot is None and isinstance(error, KeyboardInterrupt):
                # The user interrupts the process of the caller.
                add_note(error, describe_location(self._steps[at].info.name, name))
                raise
            outcome.failure = error
        finally:
            stop_recording(token)

    def _drop_unused_analyses(self, name: str, outcome: FunctionOutcome) -> None:
        is_done = outcome.failure is not None
        if is_done or len(outcome.seconds) >= self.steps_on(name):
            self._in_progress.pop(name, None)
            self._analyses.forget(outcome.function)
        else:
            self._in_progress[name] = outcome.function
        if len(self._analyses) > len(self._in_progress) + _MOST_ANALYSED:
            views = [view for view, _ in self._views.values()]
            others = [*self.versions.made.values(), *self._in_progress.values()]
            self._analyses.retain([*views, *others])

    def _digest(self, function: Any) -> str:
        """Return a short digest of a function; empty if it has none."""
        about = self.adapter, self._codec, function, self._module
        encoded = content_bytes(*about, keep_inline)
        return "" if encoded is None else blake2b(encoded, digest_size=8).hexdigest()

    def _put(self, outcome: FunctionOutcome, before: Any, after: Any) -> None:
        outcome.function = after
        if not outcome.signature_changed:
            kept = self.adapter.keeps_signature(before, after)
            outcome.signature_changed = not kept

    def module_before(self, at: int) -> Any:
        """Return the module, read-only, at the start of step `at`."""
        return self._view(at)[0]

    def _view(self, at: int) -> _View:
        view = self._views.get(at)
        if view is None:
            reader = self._steps[at].info.name
            functions = FunctionView(self.versions, at, reader, self.adapter)
            module = read_only_view(self.adapter, self._module, functions)
            self._views[at] = view = module, functions
        return view

    def _keep_or_drop(self, at: int, reads: Reads) -> None:
        """Keep or drop the module of a step, with which it may have left something."""
        if reads.was_scanned:
            reads.add_dependencies(self.versions.dependencies)
        else:
            self._views.pop(at, None)

    def _run_without_effects(self, at: int, name: str, function: Any) -> Any:
        """Run a step for another function; the job of this one has its effects, too."""
        view = self._view(at)
        recorder = Recorder(view[0], None, self._analyses)
        with recording(recorder), capturing():
            return self._apply(at, name, function, view)

    def _restart_clock(self) -> None:
        if self._slot is not None:
            self._slot.restart_clock()

    def _apply(self, at: int, name: str, function: Any, view: _View) -> Any:
        step = self._steps[at]
        if not applies_to(step, function, self.adapter):
            return function
        key, versions = (name, at), self.versions
        verdict = self.quarantined.get(key)
        if verdict is not None:
            if at:  # it is unknown what the call read before its worker ended
                versions.dependencies.add(ANY_FUNCTION)
            if isinstance(verdict, BaseException):
                raise verdict
            report_skipped(step.info.name, name, verdict)
            return function
        known = key in versions.made
        transfers_ownership = self.adapter.consumes_functions and not self._is_wanted(
            at, name, function
        )
        if not transfers_ownership:
            versions.made[key] = function  # the pass may read it from the module
        module, functions = view
        if functions.reads.dependencies:
            versions.dependencies |= functions.reads.dependencies
        outer, versions.running_on = versions.running_on, name
        try:
            return transform_function(
                step,
                name,
                function,
                module,
                self._context,
                self.adapter,
                self._budgets[at],
                self._restart_clock,
                transfers_ownership=transfers_ownership,
            )
        finally:
            versions.running_on = outer
            if versions.dependencies:
                self._keep_or_drop(at, functions.reads)
            if not (known or transfers_ownership):
                del versions.made[key]

    def _is_wanted(self, at: int, name: str, function: Any) -> bool:
        """Return whether another pass may read a function that a step consumes.

        In a worker only the interpreter refers to it. A pass that reads the function
        that it runs on gets a new object, decoded again.
        """
        if self._slot is None or self._budgets[at].on_failure is not OnFailure.FAIL:
            return True
        if self._context.change_watch is not None:
            return True  # it is compared with the result
        return self.versions.is_cached(name, function)
