"""The decorator `analysis`: what passes ask for by `PassContext.get_analysis`.

An analysis is computed once for a function or a module. It is kept with what later
passes make of that, as long as each of them leaves it unchanged or says that it
preserves the analysis; as in LLVM and MLIR. See `analysis_manager`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast, overload

from parpass.errors import ArgumentError
from parpass.errors.core import describe_kind

Analysis = Callable[[Any, Any], Any]  # of the unit and the context
AnalysisT = TypeVar("AnalysisT", bound=Callable[..., Any])

_MARK = "__parpass_analysis__"


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

    The result must depend only on the content of the unit and the settings, not on the
    name of a function, and passes must not change it. If passes are to preserve it, let
    it refer to things that survive, such as variables, and not to nodes that passes
    replace.

    Args:
        compute: The function.
        of: The kind of unit: `'function'` or `'module'`.
        equal: Compares two results, for the option `parpass.check_analyses`.

    Returns:
        The function itself. Calling it directly computes the result.

    Raises:
        ArgumentError: `of` is another word, or `compute` is not a function.
    """
    if of not in ("function", "module"):
        raise ArgumentError(f"expected of='function' or of='module', got {of!r}")

    def mark(function: Any) -> Any:
        if not isinstance(function, FunctionType):
            raise ArgumentError(
                f"expected a function for @analysis, got {describe_kind(function)}"
            )
        setattr(function, _MARK, AnalysisMark(function, of, equal))
        return function

    return mark if compute is None else mark(compute)


class AnalysisMark(NamedTuple):
    """The record that marks a function as an analysis.

    `function` is the analysis: another function may have the mark by `functools.wraps`.
    `of` is `'function'` or `'module'`.
    """

    function: Analysis
    of: str
    equal: Callable[[Any, Any], bool]


def mark_of(analysis: Analysis) -> AnalysisMark:
    """Return what is known of an analysis.

    Raises:
        ArgumentError: It is none.
    """
    found: AnalysisMark | None = getattr(analysis, _MARK, None)
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
        if mark_of(one).of == "module" and functionwise:
            raise ArgumentError(
                f"expected analyses of functions for preserves of pass '{pass_name}', "
                f"got '{one.__name__}', which is of modules: those are kept as long as "
                "no function changes"
            )
