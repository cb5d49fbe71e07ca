"""Analyses: what is computed of a function or a module, kept while passes preserve it.

A pass asks for one by `PassContext.get_analysis`. It is computed once for a function,
and kept with what later passes make of that function, as long as each of them leaves it
unchanged or says that it preserves the analysis; as in LLVM and MLIR. So asking differs
from computing in nothing but its time. An analysis of which that would not be so, since
it logs, warns, remarks or counts, is computed each time.
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, overload

from parpass.errors import ArgumentError, PreservedAnalysisError
from parpass.errors.core import describe_kind
from parpass.transform.capture.intercept import allowing_capture, capturing, emit_all
from parpass.transform.capture.recorder import Recorder, current_recorder, recording
from parpass.transform.config import CHECK_ANALYSES, optimizations_in

if TYPE_CHECKING:
    from parpass.transform.adapter import ModuleAdapter
    from parpass.transform.context import PassContext
    from parpass.transform.passes import Pass

Analysis = Callable[[Any, "PassContext"], Any]
AnalysisT = TypeVar("AnalysisT", bound=Callable[..., Any])

_MARK = "__parpass_analysis__"
_MOST_LEFT = 64  # objects with results, which are not of the functions that are run on


@overload
def analysis(compute: AnalysisT, /) -> AnalysisT: ...
@overload
def analysis(
    *, of: str = "function", equal: Callable[[Any, Any], bool] = operator.eq
) -> Callable[[AnalysisT], AnalysisT]: ...
def analysis(
    compute: Any = None,
    /,
    *,
    of: str = "function",
    equal: Callable[[Any, Any], bool] = operator.eq,
) -> Any:
    """Make a function `(unit, ctx) -> result` an analysis; a decorator.

    The result depends on the unit and the settings alone, and nobody changes it. Where
    a pass is to preserve it, it names what it is about, such as variables, and refers
    to no nodes that the pass replaces.

    Args:
        compute: The function.
        of: What the unit is: `'function'` or `'module'`.
        equal: Compares two results, for the option `parpass.check_analyses`.

    Returns:
        The function itself: it may be called, too, and is computed then.

    Raises:
        ArgumentError: `of` is another word, or `compute` is no function.
    """
    if of not in ("function", "module"):
        raise ArgumentError(f"expected of='function' or of='module', got {of!r}")

    def mark(function: Any) -> Any:
        if not isinstance(function, FunctionType):
            raise ArgumentError(
                f"expected a function for @analysis, got {describe_kind(function)}"
            )
        # What a call makes, which may make another, has a key of its own; and so has
        # what bears the name of another analysis, by `functools.wraps`.
        key = f"{function.__module__}.{function.__qualname__}"
        if "<" in key or hasattr(function, _MARK):
            key += f"#{os.urandom(8).hex()}"
        setattr(function, _MARK, _Mark(function, key, of, equal))
        return function

    return mark if compute is None else mark(compute)


class _Mark(NamedTuple):
    """What is known of an analysis.

    Attributes:
        function: The analysis.
        key: Its name; that of a copy, too, that was sent to a worker by value.
        of: What it is of: `'function'` or `'module'`.
        equal: Compares two results.
    """

    function: Analysis
    key: str
    of: str
    equal: Callable[[Any, Any], bool]


def _mark_of(analysis: Analysis) -> _Mark:
    """Return what is known of an analysis.

    Raises:
        ArgumentError: It is none.
    """
    found: _Mark | None = getattr(analysis, _MARK, None)
    if found is None or found.function is not analysis:
        raise ArgumentError(
            "expected a function with the decorator @analysis, got "
            f"{describe_kind(analysis)}"
        )
    return found


def check_preserved(analyses: Any, pass_name: str, *, functionwise: bool) -> None:
    """Check what a pass says that it preserves.

    Raises:
        ArgumentError: It is no collection of analyses; or one is of modules, and a pass
            on one function cannot know.
    """
    if callable(analyses) or not isinstance(analyses, Iterable):
        raise ArgumentError(
            f"expected a list of analyses for preserves of pass '{pass_name}', got "
            f"{describe_kind(analyses)}"
        )
    for one in cast("Iterable[Analysis]", analyses):
        if _mark_of(one).of == "module" and functionwise:
            raise ArgumentError(
                f"expected analyses of functions for preserves of pass '{pass_name}', "
                f"got '{one.__name__}', which is of modules: those are kept as long as "
                "no function changes"
            )


class AnalysisManager:
    """The results of analyses in one run, or in one job of a worker.

    They are kept by the identity of the object that they are of, which is kept alive.
    One thread uses it at a time.

    Args:
        context: The settings in force.

    Attributes:
        is_checking: Whether passes are to be checked for what they preserve.
    """

    __slots__ = ("_keeps", "_results", "is_checking")

    def __init__(self, context: PassContext) -> None:
        config = context.config
        self.is_checking: bool = config.get(CHECK_ANALYSES, False)
        self._keeps = optimizations_in(config).cached_analyses
        self._results: dict[int, tuple[Any, dict[str, Any]]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there are no results."""
        return not self._results

    def get(self, of: Analysis, unit: Any, context: PassContext) -> Any:
        """Return the result of an analysis, computed unless it is kept.

        Raises:
            ArgumentError: It is no analysis.
            Exception: The analysis raised it; that is not kept.
        """
        key = _mark_of(of).key
        known = self._results.get(id(unit))
        if known is not None and key in known[1]:
            return known[1][key]
        result, is_silent = _computed(of, unit, context)
        if is_silent and self._keeps:
            self._results.setdefault(id(unit), (unit, {}))[1][key] = result
        return result

    def check(
        self, pass_: Pass, unit: Any, context: PassContext
    ) -> PreservationCheck | None:
        """Return the check of a pass on a function; None unless it is asked for."""
        if self.is_checking and not isinstance(pass_.preserves, Inherited):
            return PreservationCheck(pass_, unit, "function", context)
        return None

    def after_function(self, pass_: Pass, before: Any, after: Any) -> None:
        """Keep with the result of a pass on a function what the pass preserves.

        Args:
            pass_: The pass.
            before: The function.
            after: The result; the very same object if nothing changed.
        """
        if not self._results or before is after:
            return
        found = self._take(before)
        found.update(self._take(after))  # of an argument that was changed in place
        self._put(after, found, pass_.preserves)

    def after_module(
        self, pass_: Pass, before: Any, after: Any, adapter: ModuleAdapter
    ) -> None:
        """Keep with the result of a module pass what the pass preserves."""
        if not self._results:
            return
        new = adapter.functions(after)
        if before is not after:
            old = adapter.functions(before)
            self._put(after, self._take(before), pass_.preserves)
            for name, function in new.items():
                was = old.get(name)
                if was is not None and was is not function:
                    self._put(function, self._take(was), pass_.preserves)
        self.retain([after, *new.values()])

    def share(self, before: Any, after: Any) -> None:
        """Give one module the results of another that has the same functions."""
        known = self._results.get(id(before))
        if known is not None and before is not after:
            self._results[id(after)] = after, known[1]

    def forget(self, unit: Any) -> None:
        """Drop the results of an object that is not used any more."""
        if self._results:
            self._results.pop(id(unit), None)

    def retain(self, units: Iterable[Any]) -> None:
        """Drop the results of all objects but these."""
        if self._results:
            kept = {id(one) for one in units}
            for number in [one for one in self._results if one not in kept]:
                del self._results[number]

    def bound(self, units: Callable[[], Iterable[Any]]) -> None:
        """Call `retain` if there are results of many objects."""
        if len(self._results) > _MOST_LEFT:
            self.retain(units())

    def _take(self, unit: Any) -> dict[str, Any]:
        known = self._results.pop(id(unit), None)
        return {} if known is None else known[1]

    def _put(
        self, unit: Any, found: dict[str, Any], preserved: Iterable[Analysis]
    ) -> None:
        if found and preserved:
            keys = {_mark_of(one).key for one in preserved}
            left = {key: one for key, one in found.items() if key in keys}
            if left:
                self._results[id(unit)] = unit, left


class Inherited(tuple[Analysis, ...]):
    """What the pass that restores the IR's invariants preserves: as the one before it.

    A pass says what is the same when the IR is restored, so what is left is.
    """


class PreservationCheck:
    """Whether a pass preserves what it says, found by computing before and after it.

    Args:
        pass_: The pass.
        unit: What it runs on.
        kind: What that is: `'function'` or `'module'`.
        context: The settings in force.
    """

    def __init__(self, pass_: Pass, unit: Any, kind: str, context: PassContext) -> None:
        self._pass, self._unit, self._context = pass_, unit, context
        self._before: Sequence[tuple[Analysis, Any]] = [
            (one, _silently(one, unit, context))
            for one in pass_.preserves
            if _mark_of(one).of == kind
        ]

    def check(
        self,
        after: Any,
        function: str | None = None,
        restore: Callable[[Any], Any] | None = None,
    ) -> None:
        """Compare with what the pass made.

        Args:
            after: The result of the pass.
            function: The name of the function; None for a module.
            restore: Restores the IR's invariants in the result.

        Raises:
            PreservedAnalysisError: The result of an analysis is another one.
        """
        if after is self._unit or not self._before:
            return
        if restore is not None:
            with _silence():
                try:
                    after = restore(after)
                except Exception:  # noqa: BLE001 -- the run comes to it, and says more
                    return
        for one, before in self._before:
            now = _silently(one, after, self._context)
            if not _mark_of(one).equal(before, now):
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
    if outer is None:
        return of(unit, context), False
    own = outer.nested()
    emissions: Sequence[Any] = ()
    try:
        with recording(own), allowing_capture(), capturing() as buffer:
            try:
                result = of(unit, context)
            finally:
                emissions = buffer.take()
    finally:
        outer.take_over(own)
        failed = emit_all(emissions, outer.module) if emissions else None
    if failed is not None:
        raise failed[1]
    return result, own.is_empty and not emissions
