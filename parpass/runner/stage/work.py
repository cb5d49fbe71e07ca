"""A stage, one function at a time: the work of the workers.

The same code runs in a worker and, for small work, in the caller's process. It must
give each pass what the serial run would have given it: the function after the earlier
passes, and a module in which the other functions have come just as far. Other functions
are brought there on demand, and remembered.

That is dear, and the question is nearly always the same: which type has the function
that is called here? Passes seldom change types. So the answer is what it stated
when the stage began, and it is taken down who relied on that. If a function has come to
state something else, those that relied on it are run once more, and it is doubted then:
what it states is found out (`outcomes.StageOutcomes.doubt`).

A pass may remember what it was told, with the module that it was given, and not ask
when it is run on the next function. So a module whose answers relied on that is given
to no other function; but for one that was gone through as a whole, as that is dear to
do again: who is given that relies on all that was found out with it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

from parpass.runner.stage.memory_guard import unguarded
from parpass.runner.stage.others import Others
from parpass.runner.stage.way import Way
from parpass.runner.travel.function_outcome import (
    ANYONE,
    AbandonedError,
    End,
    FunctionOutcome,
    Said,
    Verdicts,
)
from parpass.runner.travel.notes import Note, Phase
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget, budgets_of
from parpass.transform.config import OnFailure
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan.bodies import applies_to, transform_function
from parpass.transform.plan.within_budget import MemoryGuard, tell_skipped
from parpass.transform.saying.interception import Tape, keeping
from parpass.transform.saying.record import Recorder, recording


class StageWork:
    """Runs the steps of a stage on single functions.

    Args:
        steps: The passes.
        context: The settings in force.
        adapter: How modules are handled.
        module: The module, functions or not; attributes are taken from it.
        names: The names of all functions, in module order.
        load: Returns a function as it was when the stage began.
        note: Where to note what is worked on.
        guard: Limits memory while it is entered.
        budgets: Of the steps; by default what they and the context say.
        doubted: The names of functions that are not taken to keep their signatures.

    Attributes:
        end: Where the stage ends, as far as is known.
        verdicts: Bodies that are not called again.
    """

    def __init__(
        self,
        steps: Sequence[Pass],
        context: PassContext,
        adapter: ModuleAdapter,
        module: Any,
        names: Sequence[str],
        load: Callable[[str], Any],
        note: Note | None = None,
        guard: MemoryGuard | None = None,
        *,
        budgets: Sequence[Budget] | None = None,
        doubted: Collection[str] = (),
    ) -> None:
        self._steps = steps
        self._context = context
        self.adapter = adapter
        self._load = load
        self._note = note
        self._guard = guard
        self._budgets = (
            budgets_of(steps, context.config) if budgets is None else budgets
        )
        self._index = {name: at for at, name in enumerate(names)}
        kept = optimizations_in(context.config).kept_signatures
        self._doubted = frozenset(doubted if kept else names)
        self.end = End(len(steps) - 1)
        self.verdicts: Verdicts = {}
        self._away = 0.0  # seconds spent on functions made on demand
        # Of the function, or the version of another one, that is made just now.
        self._relied_on: set[int] = set()
        self._relied_on_by: dict[tuple[str, int], set[int]] = {}  # versions
        self._signatures: dict[str, Any] = {}
        self._versions: dict[tuple[str, int], Any] = {}
        self._module = module
        self._views: dict[int, tuple[Any, Others]] = {}

    def close(self) -> None:
        """Let go of the modules that passes were given.

        They refer to this, which could be freed by the garbage collector only.
        """
        self._views.clear()

    def steps_on(self, name: str) -> int:
        """Return how many steps are run on a function."""
        return self.end.steps_on(self._index[name])

    def run(self, name: str) -> FunctionOutcome:
        """Run steps on a function, as far as a serial run comes."""
        return self.go_on(name, FunctionOutcome(None))

    def go_on(self, name: str, begun: FunctionOutcome) -> FunctionOutcome:
        """Run steps on a function that has been through some of them already."""
        way = Way(name, begun)
        while self.step(way):
            pass
        return way.outcome

    def step(self, way: Way) -> bool:
        """Run the next step on a function; return whether there was one to run."""
        name, outcome = way.name, way.outcome
        self._stop_after(name, outcome)
        at = len(outcome.seconds)
        if at >= self.steps_on(name):
            return False
        self._relied_on = set(outcome.relied_on)
        with keeping(way.tape) as way.tape:
            if not at:
                way.original = outcome.function = self._load(name)
            self._run_step(at, name, outcome, way.tape)
        outcome.relied_on = self._relied_on
        self._stop_after(name, outcome)
        return True

    def know(self, name: str, function: Any, at: int) -> None:
        """Take down how a function stands when step `at` begins."""
        self._versions[name, at] = function

    def _stop_after(self, name: str, outcome: FunctionOutcome) -> None:
        end = outcome.end(self._index[name])
        if end is not None:
            self.end = min(self.end, end)

    def _run_step(
        self, at: int, name: str, outcome: FunctionOutcome, tape: Tape
    ) -> None:
        began = time.perf_counter()
        if self._note is not None:
            self._note.write(self._index[name], at)
        before = outcome.function
        recorder = Recorder(self.module_before(at), self._steps[at].info.name)
        with recording(recorder):
            try:
                after = outcome.function = self._step(at, name, before)
                if after is not before and not outcome.has_new_signature:
                    kept = self.adapter.keeps_signature(before, after)
                    outcome.has_new_signature = not kept
            except AbandonedError:
                raise
            except BaseException as error:
                if self._note is None and isinstance(error, KeyboardInterrupt):
                    raise  # it comes from who waits at this process, and is meant
                outcome.failure = error
        outcome.seconds = (*outcome.seconds, time.perf_counter() - began)
        said, counted, emitted = recorder.said, recorder.counted, tape.take()
        if said or counted or emitted:
            outcome.said = {**outcome.said, at: Said(said, counted, emitted)}

    def module_before(self, at: int) -> Any:
        """Return the module as it stands when step `at` begins, to be read only."""
        return self._view(at)[0]

    def _view(self, at: int) -> tuple[Any, Others]:
        view = self._views.get(at)
        if view is None:
            others, reader = Others(self, at), self._steps[at].info.name
            made = self.adapter.read_only(self._module, others, reader)
            self._views[at] = view = made, others
        return view

    def _has_read(self, at: int, others: Others) -> None:
        """Take down that a step, which may remember it, has read others."""
        if not (others.is_asked and self._relied_on):
            return
        if others.is_analysed:
            others.remember(self._relied_on)
        else:
            self._views.pop(at, None)

    def names(self) -> Mapping[str, int]:
        """Return the names of all functions, in module order, with their indices."""
        return self._index

    def signature(self, name: str, at: int) -> Any | None:
        """Return what a function states when step `at` begins."""
        if self._is_taken_to_keep_its_signature(name, at):
            if name not in self._signatures:
                first = self.adapter.signature(self._fetched(name, at))
                self._signatures[name] = first
            if self._signatures[name] is not None:
                self._relied_on.add(self._index[name])
                return self._signatures[name]
        return self.adapter.signature(self.version(name, at))

    def _is_taken_to_keep_its_signature(self, name: str, at: int) -> bool:
        is_known = name not in self._index or (name, at) in self._versions
        return not is_known and name not in self._doubted

    def version(self, name: str, at: int) -> Any:
        """Return a function as it stands when step `at` begins."""
        if name not in self._index:
            raise KeyError(name)
        versions = self._versions
        known = next((i for i in range(at, 0, -1) if (name, i) in versions), 0)
        if (name, known) not in versions:
            versions[name, known] = self._fetched(name, at)
        for step in range(known, at):
            with self._relying_apart(name, step):
                self._make_next(name, step)
        self._relied_on |= self._relied_on_by.get((name, at), set())
        return versions[name, at]

    def _make_next(self, name: str, step: int) -> None:
        """Run a step on a function to know how it stands when the next one begins."""
        versions = self._versions
        # What it says is said again by the job that the function belongs to.
        recorder = Recorder(self.module_before(step))
        with self._noted(name, step), recording(recorder), keeping():
            versions[name, step + 1] = self._step(step, name, versions[name, step])

    @contextlib.contextmanager
    def _relying_apart(self, name: str, step: int) -> Generator[None]:
        """Take down what a version relies on; who looks at it relies on that, too."""
        outer = self._relied_on
        self._relied_on = set(self._relied_on_by.get((name, step), ()))
        try:
            yield
            if self._relied_on:
                self._relied_on_by[name, step + 1] = self._relied_on
        finally:
            self._relied_on = outer | self._relied_on

    def _fetched(self, name: str, at: int) -> Any:
        with self._noted(name, at, Phase.UNPICKLE):
            return self._load(name)

    @contextlib.contextmanager
    def _noted(
        self, name: str, step: int, phase: Phase = Phase.PASS
    ) -> Generator[None]:
        """Note that a function is made on demand: it is not charged to who asked."""
        away, began = self._away, time.perf_counter()
        outer = None
        if self._note is not None:
            outer = self._note.enter(self._index[name], step, phase)
        try:
            with unguarded():
                yield
        finally:
            if self._note is not None and outer is not None:
                self._note.leave(outer)
            self._away = away + time.perf_counter() - began

    def _begin_again(self) -> None:
        if self._note is not None:
            self._note.write_again()

    def _step(self, at: int, name: str, function: Any) -> Any:
        step = self._steps[at]
        if not applies_to(step, function, self.adapter):
            return function
        key = (name, at)
        verdict = self.verdicts.get(key)
        if verdict is not None:
            if at:  # nobody knows what it asked before its worker ended
                self._relied_on.add(ANYONE)
            if isinstance(verdict, BaseException):
                raise verdict
            tell_skipped(step.info.name, name, verdict)
            return function
        known = key in self._versions
        is_given_away = self.adapter.are_boxes and not self._is_wanted(
            at, name, function
        )
        if not is_given_away:
            self._versions[key] = function  # a pass may ask for what it is run on
        module, others = self._view(at)
        self._relied_on |= others.relied_on
        try:
            return transform_function(
                step,
                name,
                function,
                module,
                self._context,
                self.adapter,
                self._budgets[at],
                self._guard,
                lambda: self._away,
                self._begin_again,
                is_given_away=is_given_away,
            )
        finally:
            self._has_read(at, others)
            if not (known or is_given_away):
                del self._versions[key]

    def _is_wanted(self, at: int, name: str, function: Any) -> bool:
        """Return whether anybody may look at a function when a step has had it.

        In a worker it is nobody else's. A pass that asks for the function that it is
        run on is given one that is made again, from its bytes.
        """
        if self._note is None or self._budgets[at].on_failure is not OnFailure.FAIL:
            return True
        return self.remembers(name, function)

    def remembers(self, name: str, function: Any) -> bool:
        """Return whether others may be given this object, as one of its versions."""
        versions = self._versions
        return any(
            versions.get((name, at)) is function for at in range(len(self._steps) + 1)
        )
