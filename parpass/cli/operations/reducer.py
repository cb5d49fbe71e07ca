"""Delta debugging of reproducers: candidates are tried in parallel, in a fixed order.

The first one that still fails is taken, so the result does not depend on how many are
tried at once.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from msgspec import structs

from parpass.cli.operations.trial import (
    FailurePredicate,
    TrialResult,
    load_passes,
    run_trial,
)
from parpass.errors import ParpassError
from parpass.runner import Executor, JobLostError
from parpass.transform import (
    ModuleAdapter,
    ReductionPattern,
    Sequential,
    print_pipeline,
)
from parpass.transform.debug.locate import PassLocator
from parpass.transform.debug.reproducer import Reproducer

KeyT = TypeVar("KeyT")


class TrialRunner:
    """Tries reproducers on workers; without workers, in children of this process.

    Args:
        executor: The workers.
        same: Whether a result is the failure that is looked for.
        seconds: The time limit of a trial.
    """

    def __init__(
        self, executor: Executor | None, same: FailurePredicate, seconds: float
    ) -> None:
        self._executor = executor
        self._same = same
        self._seconds = seconds

    def run(self, reproducer: Reproducer) -> TrialResult:
        return self._result(self._submit(reproducer))

    def first(
        self, candidates: Iterable[tuple[KeyT, Reproducer]]
    ) -> tuple[KeyT, TrialResult] | None:
        """Return key and result of the first candidate that fails in the same way."""
        window = self._executor.workers if self._executor is not None else 1
        waiting: deque[tuple[KeyT, Callable[[], bytes]]] = deque()
        rest = iter(candidates)
        while True:
            for key, candidate in itertools.islice(rest, window - len(waiting)):
                waiting.append((key, self._submit(candidate)))
            if not waiting:
                return None
            key, answer = waiting.popleft()
            result = self._result(answer)
            if self._same(result):
                return key, result

    def _submit(self, reproducer: Reproducer) -> Callable[[], bytes]:
        job = json.dumps({"text": reproducer.to_text(), "seconds": self._seconds})
        if self._executor is None:
            return functools.partial(run_trial, job.encode())
        answer: Future[bytes] = self._executor.submit(run_trial, job.encode())
        return answer.result

    def _result(self, answer: Callable[[], bytes]) -> TrialResult:
        try:
            return TrialResult(**json.loads(answer()))
        except JobLostError as error:  # where no child protects the worker
            return TrialResult("died", str(error))


class DropFunctions:
    """Removes functions; the module is malformed if others call them."""

    many = True

    def __init__(self, adapter: ModuleAdapter, kept: str | None) -> None:
        self._adapter = adapter
        self._kept = kept

    def items(self, mod: Any) -> Sequence[str]:
        return [name for name in self._adapter.functions(mod) if name != self._kept]

    def without(self, mod: Any, items: Sequence[str]) -> Any:
        gone = set(items)
        functions = self._adapter.functions(mod)
        kept = {name: one for name, one in functions.items() if name not in gone}
        return self._adapter.with_functions(mod, kept)


class Reducer:
    """Shrinks a reproducer step by step while it fails."""

    def __init__(
        self,
        reproducer: Reproducer,
        mod: Any,
        adapter: ModuleAdapter,
        trials: TrialRunner,
    ) -> None:
        self.reproducer = reproducer
        self._adapter = adapter
        self._programs = adapter.programs(mod)
        self._size = self._programs.module_size
        self.mod = self._restored(mod)
        self._trials = trials
        self._origins = PassLocator()

    def run(self) -> None:
        """Shrink until nothing more can be removed."""
        self._shrink_pipeline()
        kept = self.reproducer.function
        before = None
        while before != self._size(self.mod):
            before = self._size(self.mod)
            there = kept if kept in self._adapter.functions(self.mod) else None
            for way in (
                DropFunctions(self._adapter, there),
                *self._programs.reduction_patterns(),
            ):
                self._shrink_module(way)

    def _restored(self, mod: Any) -> Any:
        """Return a module with the invariants of its IR restored, if possible."""
        functions = self._adapter.functions(mod).values()
        kinds = dict.fromkeys(map(self._adapter.kind_of, functions))
        for kind in kinds:
            restoring = None if kind is None else self._adapter.restoring_pass(kind)
            with contextlib.suppress(ParpassError):
                mod = mod if restoring is None else restoring(mod)
        return mod

    def _shrink_pipeline(self) -> None:
        passes = load_passes(self.reproducer).passes
        length = len(passes)
        while length > 0 and len(passes) > 1:
            at = 0
            while at < len(passes):
                shorter = [
                    (k, passes[:k] + passes[k + length :])
                    for k in range(at, len(passes), length)
                    if length < len(passes)
                ]
                texts = ((key, self._with_passes(key[1])) for key in shorter)
                found = self._trials.first(texts)
                if found is None:
                    break
                (at, passes), result = found
                self._take(self._with_passes(passes), result)
            length //= 2

    def _with_passes(self, passes: Sequence[object]) -> Reproducer:
        pipeline = Sequential(passes)  # pyright: ignore[reportArgumentType]
        text = print_pipeline(pipeline, name_of=self._origins.name_of)
        return structs.replace(self.reproducer, pipeline=text)

    def _shrink_module(self, way: ReductionPattern) -> None:
        items = way.items(self.mod)
        length = len(items) if way.many else min(len(items), 1)
        while length > 0:
            at = 0
            while at < len(items):
                found = self._trials.first(self._candidates(way, items, at, length))
                if found is None:
                    break
                (at, mod), result = found
                self.mod = self._restored(mod)
                self._take(self._with_module(mod), result)
                items = way.items(self.mod)
            length //= 2

    def _candidates(
        self, way: ReductionPattern, items: Sequence[object], at: int, length: int
    ) -> Iterator[tuple[tuple[int, Any], Reproducer]]:
        now = self._size(self.mod)
        for k in range(at, len(items), length):
            mod = way.without(self.mod, items[k : k + length])
            if self._size(mod) < now and self._is_well_formed(mod):
                yield (k, mod), self._with_module(mod)

    def _is_well_formed(self, mod: Any) -> bool:
        """Return whether a module has no faults; such a module needs no trial."""
        functions = self._adapter.functions(mod).values()
        return not any(self._adapter.faults(function, mod) for function in functions)

    def _with_module(self, mod: Any) -> Reproducer:
        return structs.replace(self.reproducer, text=self._programs.astext(mod))

    def _take(self, reproducer: Reproducer, result: TrialResult) -> None:
        error = self.reproducer.error
        if result.kind == "raised":
            error = f"{result.error}: {result.message}"
        self.reproducer = structs.replace(reproducer, error=error)
