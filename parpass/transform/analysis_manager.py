"""The results of analyses, as long as passes preserve them.

Asking for an analysis differs from computing it in nothing but its time. One of which
that would not be so, since it logs, warns, remarks or counts, is computed each time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple, cast

from parpass.errors import PreservedAnalysisError
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.analysis import Analysis, mark_of
from parpass.transform.capture.emission import Emission
from parpass.transform.capture.intercept import (
    allowing_capture,
    capturing,
    current_buffer,
    emit_all,
    is_capturing_warnings,
    shown_by,
)
from parpass.transform.capture.recorder import (
    Recorder,
    current_recorder,
    inside_function_pass,
    recording,
)
from parpass.transform.config import (
    CHECK_ANALYSES,
    CHECK_CONTRACT,
    optimizations_in,
)
from parpass.transform.context import PassContext
from parpass.transform.mutability import StatedMutability, is_value
from parpass.transform.passes import FunctionwisePass, Pass


class _Kept(NamedTuple):
    """The results of one unit, and what tells whether it was changed in place since."""

    unit: Any
    version: Any
    results: dict[Analysis, Any]


class AnalysisManager:
    """The results of analyses in one run, or in one job of a worker.

    They are kept by the identity of the object that they are of, which is kept alive.
    One thread uses it at a time, in blocks that enter it.

    Attributes:
        checks_results: Whether passes are to be checked for changing results.
        is_checking: Whether passes are to be checked for what they preserve.
        is_of_module: Whether an analysis of a module is being computed.
    """

    __slots__ = (
        "_adapter",
        "_capture",
        "_context",
        "_given",
        "_is_watched",
        "_keeps",
        "_results",
        "_shown",
        "checks_results",
        "is_checking",
        "is_of_module",
    )

    def __init__(self, context: PassContext, adapter: ModuleAdapter) -> None:
        config, self._context, self._adapter = context.config, context, adapter
        self.is_checking: bool = config.get(CHECK_ANALYSES, False)
        self.checks_results = self.is_checking or config.get(CHECK_CONTRACT, False)
        self._given: list[tuple[Analysis, Any, Any, Any]] = []  # to the pass that runs
        self._keeps = optimizations_in(config).cached_analyses
        self._results: dict[int, _Kept] = {}  # by the `id` of a unit
        self._capture: contextlib.ExitStack | None = None
        self._shown: tuple[Any, Any] | None = None  # what showed warnings at first
        self._is_watched = bool(context.instruments)
        self.is_of_module = False

    def get(self, of: Analysis, unit: Any, context: PassContext) -> Any:
        """Return the result of an analysis, computed unless it is kept.

        Raises:
            ArgumentError: It is no analysis.
            Exception: The analysis raised it; that is not kept.
        """
        is_of_module = mark_of(of).of == "module"
        if context is not self._context or not self._allow_capture():
            return of(unit, context)
        # A module that is not a function pass's to read may be changed in place.
        # So may a function, where that is found out; and a pass may empty a box.
        is_read_only = inside_function_pass() if is_of_module else self._stays(unit)
        version = None if is_of_module else self._version(unit)
        known = self._results.get(id(unit))
        if known is not None and known.version != version:
            del self._results[id(unit)]
            known = None
        if known is not None and is_read_only and of in known.results:
            return self._give(of, unit, known.results[of])
        outer, self.is_of_module = self.is_of_module, is_of_module
        try:
            result, is_silent = _computed(of, unit, context)
        finally:
            self.is_of_module = outer
        if is_silent and self._keeps and is_capturing_warnings():
            kept = self._results.setdefault(id(unit), _Kept(unit, version, {}))
            kept.results[of] = result
            return self._give(of, unit, result)
        return result

    def _stays(self, function: Any) -> bool:
        """Return whether a function is as it was, or has another version."""
        is_stated = isinstance(self._adapter.mutability, StatedMutability)
        return is_stated or is_value(self._adapter, function)

    def _version(self, function: Any) -> Any:
        """Return what differs once a function has been changed in place, if known."""
        mutability = self._adapter.mutability
        is_stated = isinstance(mutability, StatedMutability)
        return mutability.fingerprint(function) if is_stated else None

    def _give(self, of: Analysis, unit: Any, result: Any) -> Any:
        """Return a result that is kept; note it if passes are checked for changes."""
        if self.checks_results and not self._adapter.consumes_functions:
            self._given.append((of, unit, self._state_of(of, unit), result))
        return result

    def _state_of(self, of: Analysis, unit: Any) -> Any:
        """Return what differs once a pass has changed a unit in place."""
        mutability = self._adapter.mutability
        if mutability is None or mark_of(of).of == "module":
            return None
        return mutability.fingerprint(unit)

    def changed_result(self, pass_: Pass, function: str | None) -> Exception | None:
        """Return the error of a pass that changed a result that it was given, if any.

        The next pass that asks for it would be given the changed one. Of a function
        that was changed in place nothing can be said: its analysis may differ now.
        """
        given, self._given = self._given, []
        for of, unit, state, result in given:
            now = _silently(of, unit, self._context)
            is_same = self._state_of(of, unit) == state
            if is_same and not mark_of(of).equal(now, result):
                where = "the module" if function is None else f"function '{function}'"
                return PreservedAnalysisError(
                    f"pass '{pass_.info.name}' changed the result of analysis "
                    f"'{of.__name__}' that it was given, on {where}: {now!r:.200} "
                    f"before, {result!r:.200} after; change a copy",
                    pass_name=pass_.info.name,
                    function=function,
                )
        return None

    def _allow_capture(self) -> bool:
        """Capture warnings until the block ends; return whether they are captured.

        They are not where the body has replaced what shows them. To begin anew for each
        analysis would take longer than many an analysis.
        """
        if self._capture is None and _are_same(self._shown, shown_by()):
            self._capture = contextlib.ExitStack()
            self._capture.enter_context(allowing_capture())
        return is_capturing_warnings()

    def __enter__(self) -> None:
        self._given = []
        self._shown = shown_by()

    def __exit__(self, *_: object) -> None:
        self._shown = None
        if self._capture is not None:
            self._capture.close()
            self._capture = None

    def check(
        self, pass_: Pass, unit: Any, context: PassContext
    ) -> PreservationCheck | None:
        self._given = []
        if self.is_checking and not isinstance(pass_.preserves, Inherited):
            return PreservationCheck(pass_, unit, "function", context)
        return None

    def after_function(self, pass_: Pass, name: str, before: Any, after: Any) -> None:
        """Keep with the result of a pass on a function what the pass preserves.

        Raises:
            PreservedAnalysisError: The pass changed a result; see `changed_result`.
        """
        if self._given and (changed := self.changed_result(pass_, name)) is not None:
            raise changed
        if not self._results or before is after:
            return
        found = self._take(before)
        found.update(self._take(after))  # of an argument that was changed in place
        self._put(after, self._version(after), found, pass_.preserves)

    def after_module(self, pass_: Pass, before: Any, after: Any) -> None:
        """Keep after a module pass what it preserves, and what functions show is kept.

        Those are the functions that it left alone, if functions cannot be changed in
        place. Of the module nothing can be seen.
        """
        self._is_watched = bool(self._context.instruments)
        if not self._results:
            return
        adapter, preserved = self._adapter, pass_.preserves
        old, new = adapter.functions(before), adapter.functions(after)
        self._put(after, None, self._take(before), preserved)
        for name, function in new.items():
            was = old.get(name, function)
            if was is not function or not is_value(adapter, function):
                version = self._version(function)
                self._put(function, version, self._take(was), preserved)
        self.retain([after, *new.values()])

    def share(self, before: Any, after: Any) -> None:
        """Give one module the results of another of the same content.

        Not where instruments are called in between, which may change it in place.
        """
        known = self._results.get(id(before))
        if known is not None and not self._is_watched:
            self._results[id(after)] = _Kept(after, None, dict(known.results))

    def forget(self, unit: Any) -> None:
        if self._results:
            self._results.pop(id(unit), None)

    def retain(self, units: Iterable[Any]) -> None:
        if self._results:
            kept = {id(one) for one in units}
            for number in [one for one in self._results if one not in kept]:
                del self._results[number]

    def __len__(self) -> int:
        return len(self._results)

    def _take(self, unit: Any) -> dict[Analysis, Any]:
        known = self._results.pop(id(unit), None)
        return {} if known is None else known.results

    def _put(
        self,
        unit: Any,
        version: Any,
        found: dict[Analysis, Any],
        preserved: Iterable[Analysis],
    ) -> None:
        if found and preserved:
            kept = set(preserved)
            left = {of: result for of, result in found.items() if of in kept}
            if left:
                self._results[id(unit)] = _Kept(unit, version, left)


class Inherited(tuple[Analysis, ...]):
    """The analyses that a restoring pass preserves: those of the pass before it.

    A pass names those that are the same when the IR's invariants are restored again.
    """


class PreservationCheck:
    """The check of a pass on one unit: its analyses before are compared with after.

    `kind` is that of the unit: `'function'` or `'module'`.
    """

    def __init__(self, pass_: Pass, unit: Any, kind: str, context: PassContext) -> None:
        self._pass, self._unit, self._context = pass_, unit, context
        self._before: Sequence[tuple[Analysis, Any]] = [
            (one, _silently(one, unit, context))
            for one in pass_.preserves
            if mark_of(one).of == kind
        ]

    def check(
        self,
        after: Any,
        function: str | None = None,
        restoring: Pass | None = None,
        mod: Any = None,
    ) -> None:
        """Compare with what the pass made.

        `restoring` restores the IR's invariants in the result, before it is looked at.

        Raises:
            PreservedAnalysisError: The result of an analysis differs.
        """
        if after is self._unit or not self._before:
            return
        if restoring is not None:
            body = cast("FunctionwisePass", restoring).transform_function
            with _silence():
                try:
                    after = body(after, mod, self._context)
                except Exception:  # noqa: BLE001 -- the run comes to it, and says more
                    return
        for one, before in self._before:
            now = _silently(one, after, self._context)
            if not mark_of(one).equal(before, now):
                where = "the module" if function is None else f"function '{function}'"
                name = self._pass.info.name
                raise PreservedAnalysisError(
                    f"pass '{name}' says that it preserves analysis '{one.__name__}', "
                    f"and changed it on {where}: {before!r:.200} before, {now!r:.200} "
                    "after; leave the analysis out of its preserves, or give @analysis "
                    "an equal= if these are equal",
                    pass_name=name,
                    function=function,
                )


def _are_same(before: tuple[Any, Any] | None, now: tuple[Any, Any]) -> bool:
    return before is not None and before[0] is now[0] and before[1] is now[1]


@contextlib.contextmanager
def _silence() -> Generator[None]:
    with recording(Recorder(None)), allowing_capture(), capturing():
        yield


def _silently(of: Analysis, unit: Any, context: PassContext) -> Any:
    """Return the result of an analysis, or its error; drop what it emits."""
    with _silence():
        try:
            return of(unit, context)
        except Exception as error:  # noqa: BLE001 -- who asks for it gets it
            return type(error), str(error)


def _computed(of: Analysis, unit: Any, context: PassContext) -> tuple[Any, bool]:
    """Return the result of an analysis, and whether it emitted nothing."""
    outer = current_recorder()
    assert outer is not None  # there is a manager only where there is one
    own, captured = outer.nested(), current_buffer()
    if captured is None:
        result, emissions = _captured(of, unit, context, own, outer)
        return result, own.is_empty and not emissions
    before = len(captured)
    try:
        with recording(own):
            result = of(unit, context)
    finally:
        outer.take_over(own)
    return result, own.is_empty and len(captured) == before


def _captured(
    of: Analysis, unit: Any, context: PassContext, own: Recorder, outer: Recorder
) -> tuple[Any, Sequence[Emission]]:
    """Return the result of an analysis, and what it emitted, which is emitted now."""
    error = result = None
    with recording(own), capturing() as buffer:
        try:
            result = of(unit, context)
        except BaseException as raised:  # noqa: BLE001 -- raised again below
            error = raised
        emissions = buffer.take()
    outer.take_over(own)
    failed = emit_all(emissions, outer.module) if emissions else None
    if failed is not None:  # a filter or handler raised, before the analysis could
        raise failed[1]
    if error is not None:
        raise error
    return result, emissions
