"""The body of a function-wise pass, on one function: the place where it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from parpass.errors import InputChangedError, PassResultError
from parpass.errors.tracebacks import calls_users_code
from parpass.transform.adapter import ModuleAdapter, Mutability
from parpass.transform.budget import UNLIMITED, Budget
from parpass.transform.context import PassContext
from parpass.transform.handing_over import handing_over
from parpass.transform.passes import FunctionPass, FunctionwisePass, Pass
from parpass.transform.plan.whereabouts import begin_body, end_body
from parpass.transform.plan.within_budget import MemoryGuard, within
from parpass.transform.saying.record import current_recorder


def applies_to(pass_: Pass, function: Any, adapter: ModuleAdapter) -> bool:
    """Return whether a function-wise pass is run on a function."""
    if pass_.function_kind != adapter.kind_of(function):
        return False
    return not (isinstance(pass_, FunctionPass) and adapter.is_skipped(function))


@calls_users_code
def transform_function(
    pass_: Pass,
    name: str,
    function: Any,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    budget: Budget = UNLIMITED,
    guard: MemoryGuard | None = None,
    *watch: Callable[[], Any],
    is_given_away: bool = False,
) -> Any:
    """Return what a function-wise pass makes of one function.

    `watch` are the last arguments of `budget.within`. A box that is given away nobody
    looks at any more: see `handing_over`.

    Raises:
        PassResultError: The pass returned something that is no function.
        InputChangedError: It changed the function in place, and may not.
        BaseException: What the body raised.
    """
    recorder = current_recorder()
    if recorder is not None:
        recorder.function_name = name

    def checked() -> Any:
        body = cast("FunctionPass | FunctionwisePass", pass_).transform_function
        mutability = adapter.mutability
        if adapter.are_boxes:
            with handing_over(function if is_given_away else None):
                result = body(function, mod, context)
        elif mutability is None:
            result = body(function, mod, context)
        else:
            result = _watched(
                lambda given: body(given, mod, context),
                mutability,
                pass_.info.name,
                name,
                function,
            )
        if result is not function and not adapter.is_function(result):
            raise PassResultError(
                f"pass '{pass_.info.name}' must return a {type(function).__name__} for "
                f"function '{name}', got {type(result).__name__}",
                pass_name=pass_.info.name,
                function=name,
            )
        return result

    outer = begin_body(pass_.info.name, name)
    try:
        if budget == UNLIMITED:  # not `is`: it may have travelled
            return checked()
        return within(budget, pass_.info.name, name, function, checked, guard, *watch)
    finally:
        end_body(outer)


def _watched(
    body: Callable[[Any], Any],
    mutability: Mutability,
    pass_name: str,
    name: str,
    function: Any,
) -> Any:
    """Return what a body makes of a function that it can change in place."""
    given = mutability.to_change(function)
    before = mutability.fingerprint(given)
    result = body(given)
    is_changed = mutability.fingerprint(given) != before
    if is_changed and given is function:
        raise InputChangedError(
            f"pass '{pass_name}' changed function '{name}' in place, which functions "
            "of this IR must not be; return a new function",
            pass_name=pass_name,
            function=name,
        )
    return function if result is given and not is_changed else result
