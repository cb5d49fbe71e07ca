"""The calls of instruments by contexts and pipelines: hooks, their order, errors.

`parpass.instrument` has the base class and the instruments; this calls them.

Instruments read the clock that is here. Passes that the runner fused were run together,
function by function; the hooks around each of them are called afterwards, in the serial
order. Then this clock shows the time at which the pass would have begun or ended, by
the shares of time that it took in the workers. Otherwise it is `time.perf_counter`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, cast

import msgspec

from parpass.errors import ArgumentError, InstrumentError
from parpass.errors.core import add_note
from parpass.errors.tracebacks import calls_user_code
from parpass.remark import Remark
from parpass.transform.capture.change import FunctionChange, Wanted

replayed_time: ContextVar[float | None] = ContextVar(
    "parpass_replayed_time", default=None
)


def now() -> float:
    """Return the time in seconds, at which a serial run would call the current hook."""
    replayed = replayed_time.get()
    return time.perf_counter() if replayed is None else replayed


Hook = Callable[..., Any]


class Hooks(msgspec.Struct, frozen=True, eq=False):
    """The hooks that an instrument overrides, bound to it; None for the others.

    `wanted` are the changes that `on_function_changed` gets.
    """

    name: str
    observes_ir: bool
    enter_pass_ctx: Hook | None = None
    exit_pass_ctx: Hook | None = None
    should_run: Hook | None = None
    run_before_pass: Hook | None = None
    run_after_pass: Hook | None = None
    run_after_failed_pass: Hook | None = None
    on_remark: Hook | None = None
    on_function_changed: Hook | None = None
    wanted: Wanted = (("*",), ("*",))


def hooks_of(instrument: Any) -> Hooks:
    return instrument.bound_hooks


def wants_remarks(instruments: Iterable[Any]) -> bool:
    return any(hooks_of(one).on_remark is not None for one in instruments)


def wanted_changes(instruments: Iterable[Any]) -> tuple[Wanted, ...]:
    hooks = map(hooks_of, instruments)
    return tuple(one.wanted for one in hooks if one.on_function_changed is not None)


def checked_instruments(instruments: Iterable[Any] | None) -> tuple[Any, ...]:
    """Return instruments as a tuple.

    Raises:
        ArgumentError: One of them is no instrument.
    """
    try:
        found = tuple(instruments or ())
    except TypeError:
        raise ArgumentError(
            f"expected a list of instruments; {instruments!r} is not iterable"
        ) from None
    for one in found:
        if not _is_instrument(one):
            raise ArgumentError(
                f"expected pass instruments, got {one!r}; derive from PassInstrument "
                "or decorate the class with @pass_instrument, and give an instance"
            )
    return found


def _is_instrument(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(
        cast("object", type(value)), "bound_hooks"
    )


def enter_instruments(instruments: Sequence[Any]) -> None:
    """Call `enter_pass_ctx` of each, in order.

    If one raises, those already entered are exited in reverse order and the error is
    raised, together with those of the exits, if any.
    """
    for at, instrument in enumerate(instruments):
        try:
            _call_context_hook(instrument, "enter_pass_ctx")
        except BaseException as error:  # noqa: BLE001 -- rolled back, then raised
            entered = instruments[:at][::-1]
            _raise_all([error, *_exit_all(entered)], "entering a PassContext")


def exit_instruments(instruments: Sequence[Any]) -> None:
    """Call `exit_pass_ctx` of each, in order; all are called, whichever raises."""
    _raise_all(_exit_all(instruments), "leaving a PassContext")


def _exit_all(instruments: Sequence[Any]) -> list[BaseException]:
    errors: list[BaseException] = []
    for instrument in instruments:
        try:
            _call_context_hook(instrument, "exit_pass_ctx")
        except BaseException as error:  # noqa: BLE001 -- raised with the others
            errors.append(error)
    return errors


def _raise_all(errors: Sequence[BaseException], when: str) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise BaseExceptionGroup(f"several instruments failed while {when}", errors)


def _call_context_hook(instrument: Any, hook_name: str) -> None:
    hooks = hooks_of(instrument)
    hook = getattr(hooks, hook_name)
    if hook is None:
        return
    try:
        hook()
    except Exception as error:
        add_note(error, f"in {hook_name} of instrument '{hooks.name}'")
        raise


@calls_user_code
def call_pass_hook(hooks: Hooks, hook_name: str, *args: Any) -> Any:
    """Call a hook around a pass: `args` are the module and the PassInfo, at least.

    Raises:
        InstrumentError: `should_run` returned something that is no bool.
    """
    info = args[1]
    try:
        answer = getattr(hooks, hook_name)(*args)
    except Exception as error:
        add_note(
            error,
            f"in {hook_name} of instrument '{hooks.name}', around pass '{info.name}'",
        )
        raise
    if hook_name == "should_run" and not isinstance(answer, int):
        raise InstrumentError(
            f"should_run of instrument '{hooks.name}' must return a bool, got "
            f"{answer!r} for pass '{info.name}'"
        )
    return answer


@calls_user_code
def call_event_hook(
    hooks: Hooks, hook_name: str, info: Any, event: Remark | FunctionChange
) -> None:
    try:
        getattr(hooks, hook_name)(info, event)
    except Exception as error:
        where = f"in {hook_name} of instrument '{hooks.name}', of pass '{info.name}'"
        add_note(error, where)
        raise
