"""PassContext, the settings of passes, and which of them are current."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from parpass.diagnostic import DiagnosticContext, Span
from parpass.errors import ArgumentError, PassContextError
from parpass.remark import Remark, RemarkKind, bounded_text, plain_value, remark_kind
from parpass.transform.analysis import mark_of
from parpass.transform.capture.change import ChangeWatch, Wanted
from parpass.transform.capture.recorder import current_recorder, inside_function_pass
from parpass.transform.config import checked_config, list_config_options
from parpass.transform.instrument_hooks import (
    checked_instruments,
    enter_instruments,
    exit_instruments,
    wanted_changes,
    wants_remarks,
)
from parpass.transform.pass_info import PassInfo, checked_names
from parpass.transform.variable_setting import setting

if TYPE_CHECKING:
    from parpass.transform.capture.pass_memory import PassMemory

UnitT = TypeVar("UnitT")
ResultT = TypeVar("ResultT")

MAX_SHIPPED_LEVEL = 4  # of shipped passes, as TVM's; a program's may have more


class PassContext:
    """The settings of passes: which of them run, their options, their instruments.

    `with PassContext(opt_level=3):` makes it the current context. The current context
    is a context variable: a trio or asyncio task inherits it from its parent, and
    entering a context in a task has no effect outside. Nested contexts are not merged;
    the innermost one applies.

    Args:
        opt_level: A `Sequential` runs passes up to this level. Any int, as in TVM. At 9
            all bundled passes run, and your own up to that level.
        required_pass: Names of passes that run at any level; instruments cannot veto
            them.
        disabled_pass: Names of passes that do not run; overrides `required_pass`.
        instruments: Called around each pass, in this order.
        config: Values of registered options, by key.

    Attributes:
        memory: The memory of passes, while `measuring_memory` measures it; otherwise
            empty.

    Raises:
        ArgumentError: An argument is of the wrong type.
        ConfigError: An option is unknown, or its value has the wrong type.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(cast("object", opt_level), int):
            raise ArgumentError(f"expected an int for opt_level, got {opt_level!r}")
        if config and not isinstance(cast("object", config), Mapping):
            raise ArgumentError(f"expected a mapping for config, got {config!r}")
        self._opt_level = int(opt_level)
        self._required = checked_names(required_pass or (), "required_pass")
        self._disabled = checked_names(disabled_pass or (), "disabled_pass")
        self._has_unchecked_names = bool(self._required or self._disabled)
        self._instruments = checked_instruments(instruments)
        self._config = checked_config(config or {})
        self._diag_ctx: DiagnosticContext | None = None
        self._statistics: dict[str, Counter[str]] = {}
        self._function_statistics: dict[str, dict[str, Counter[str]]] | None = None
        # What instruments receive; None if that is not known yet.
        self._remarks_enabled: bool | None = None
        self._change_watch: ChangeWatch | None = None
        self.memory: tuple[PassMemory, ...] = ()

    @classmethod
    def restored(
        cls,
        opt_level: int,
        required_pass: tuple[str, ...],
        disabled_pass: tuple[str, ...],
        config: Mapping[str, Any],
        remarks_enabled: bool = False,
        wanted: Sequence[Wanted] = (),
    ) -> PassContext:
        """Return a context whose options another process has checked."""
        context = cls(opt_level, required_pass, disabled_pass)
        context._config = MappingProxyType(dict(config))
        context._remarks_enabled = remarks_enabled
        context._change_watch = ChangeWatch(wanted)
        return context

    @property
    def opt_level(self) -> int:
        """The optimisation level."""
        return self._opt_level

    @property
    def required_pass(self) -> tuple[str, ...]:
        """The names of passes that run at any level."""
        return self._required

    @property
    def disabled_pass(self) -> tuple[str, ...]:
        """The names of passes that do not run."""
        return self._disabled

    @property
    def instruments(self) -> tuple[Any, ...]:
        """The instruments; see `override_instruments`.

        Empty in the body of a function pass, which may run in another process.
        """
        return () if inside_function_pass() else self._instruments

    @property
    def config(self) -> Mapping[str, Any]:
        """The options that are set, by key, converted to their types; read-only."""
        return self._config

    @property
    def diag_ctx(self) -> DiagnosticContext | None:
        """The diagnostics of the running pass, which it can add to.

        Outside of passes: the diagnostics of the last pass that emitted any, or None.
        """
        recorder = current_recorder()
        return self._diag_ctx if recorder is None else recorder.diag_ctx

    @diag_ctx.setter
    def diag_ctx(self, value: DiagnosticContext | None) -> None:
        self._diag_ctx = value

    @property
    def function_name(self) -> str | None:
        """The name of the function that the running function pass is on, or None."""
        recorder = current_recorder()
        return None if recorder is None else recorder.function_name

    def get_analysis(
        self, of: Callable[[UnitT, PassContext], ResultT], unit: UnitT
    ) -> ResultT:
        """Return the result of an analysis of a function or a module.

        The result is computed unless it is known from this pass or an earlier pass of
        the run; see `analysis`. Do not change it. Outside of passes it is always
        computed.

        Args:
            of: The analysis: a function decorated with `@analysis`.
            unit: The function or module.

        Raises:
            ArgumentError: `of` is not an analysis.
            Exception: The analysis raised it.
        """
        recorder = current_recorder()
        manager = None if recorder is None else recorder.analyses
        if manager is None:
            mark_of(of)  # raises if it is none
            return of(unit, self)
        return manager.get(of, unit, self)

    def count(self, counter: str, amount: int = 1) -> None:
        """Add to a counter of the running pass; a no-op outside of passes.

        `statistics` has the sums over all functions under the pass's name. They are the
        same in serial and parallel runs.
        """
        recorder = current_recorder()
        if recorder is not None:
            recorder.counters[counter] += amount

    @property
    def remarks_enabled(self) -> bool:
        """Whether remarks are recorded: an instrument has the hook `on_remark`.

        Check it only if a remark takes long to compute.
        """
        enabled = self._remarks_enabled
        if enabled is None:
            enabled = self._remarks_enabled = wants_remarks(self._instruments)
        return enabled

    @property
    def change_watch(self) -> ChangeWatch | None:
        """The finder of changes of functions; None if no instrument gets any."""
        watch = self._change_watch
        if watch is None:
            watch = self._change_watch = ChangeWatch(wanted_changes(self._instruments))
        return watch if watch.wanted else None

    def remark(
        self,
        kind: RemarkKind | str,
        message: str,
        /,
        span: Span | None = None,
        *,
        name: str | None = None,
        function: str | None = None,
        **values: Any,
    ) -> None:
        """Record what the running pass did, missed or found, for the instruments.

        A no-op outside of passes, and if `remarks_enabled` is False.

        Args:
            kind: A `RemarkKind`, or `'passed'`, `'missed'`, `'analysis'`.
            message: The finding, in one line without a full stop. Only the first 2,000
                characters are kept.
            span: The place in the program.
            name: A key for tools to sort by, such as `NotFused`; by default the kind.
            function: The function that a module pass refers to; by default the function
                that the pass runs on.
            values: The values that the finding is based on. Strings, numbers, bools and
                None are kept; other values are kept as text of at most 2,000
                characters.

        Raises:
            ArgumentError: `kind` is not a kind of remark.
        """
        kind = remark_kind(kind)
        recorder = current_recorder() if self.remarks_enabled else None
        if recorder is None:
            return
        remark = Remark(
            kind,
            recorder.pass_name or "",
            function or recorder.function_name,
            name or kind.value.capitalize(),
            bounded_text(message),
            span,
            {key: plain_value(value) for key, value in values.items()},
        )
        recorder.add_remarks((remark,))

    @property
    def statistics(self) -> dict[str, Counter[str]]:
        """The counters of the passes that have ended, by pass name.

        Empty in the body of a function pass, which may run before others have ended.
        """
        return {} if inside_function_pass() else self._statistics

    @property
    def function_statistics(self) -> dict[str, dict[str, Counter[str]]] | None:
        """The counters of each function, by pass name and function name.

        None until `keep_function_statistics` is called. Counters of module passes are
        only in `statistics`.
        """
        return self._function_statistics

    def keep_function_statistics(self) -> None:
        """Keep counters by function, too, from now on."""
        if self._function_statistics is None:
            self._function_statistics = {}

    def pass_enabled(self, info: PassInfo) -> bool:
        """Return whether a `Sequential` runs a pass under this context."""
        if info.name in self._disabled:
            return False
        return info.name in self._required or self._opt_level >= info.opt_level

    def unchecked_names(self) -> list[tuple[str, str]]:
        """Return pairs of a setting and a pass that it names; none the second time."""
        if not self._has_unchecked_names:
            return []
        self._has_unchecked_names = False
        return [
            *[("required_pass", name) for name in self._required],
            *[("disabled_pass", name) for name in self._disabled],
        ]

    def override_instruments(self, instruments: Iterable[Any] | None) -> None:
        """Exit the current instruments and enter these in their place.

        If an exit hook raises, all instruments are exited nevertheless and the list is
        empty; you can thus remove an instrument that always fails. If an enter hook
        raises, the new instruments are listed but not entered, as when entering a
        context fails.

        Raises:
            PassContextError: Called in the body of a function pass.
        """
        if inside_function_pass():
            raise PassContextError(
                "the body of a function pass cannot override instruments: it may run "
                "in another process; write a module pass"
            )
        new, old = checked_instruments(instruments), self._instruments
        self._set_instruments(())
        exit_instruments(old)
        self._set_instruments(new)
        enter_instruments(new)

    def _set_instruments(self, instruments: tuple[Any, ...]) -> None:
        self._instruments = instruments
        self._remarks_enabled = self._change_watch = None

    @contextlib.contextmanager
    def also_watched_by(self, instrument: Any) -> Generator[None]:
        """Add an instrument for the block, after the others.

        It is entered and exited; the others stay entered.

        Raises:
            ArgumentError: The argument is not an instrument.
        """
        (new,) = checked_instruments([instrument])
        enter_instruments([new])
        self._set_instruments((*self._instruments, new))
        try:
            yield
        finally:
            others = (one for one in self._instruments if one is not new)
            self._set_instruments(tuple(others))
            exit_instruments([new])

    @staticmethod
    def current() -> PassContext:
        """Return the innermost entered context, or a default one.

        Each contextvars context has its own default.
        """
        active = _active.get()
        if active:
            return active[-1]
        default = _default.get()
        if default is None:
            default = PassContext()
            _default.set(default)
        return default

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Return the registered options, by key, each with the name of its type."""
        options = list_config_options().items()
        return {key: {"type": option.kind.__name__} for key, option in options}

    def same_as(self, other: object) -> bool:
        """Return whether this is the object `other` (identity)."""
        return self is other

    def __enter__(self) -> Self:
        enter_instruments(self._instruments)
        _active.set((*_active.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        active = _active.get()
        if not active or active[-1] is not self:
            found = repr(active[-1]) if active else "none is entered"
            raise PassContextError(
                f"contexts must be left in the reverse order of entering; leaving "
                f"{self!r}, but the current one is: {found}"
            )
        _active.set(active[:-1])
        exit_instruments(self._instruments)

    def __reduce__(self) -> tuple[Any, ...]:
        # Instruments are called in the coordinator only, so they are not pickled.
        settings = (self._opt_level, self._required, self._disabled)
        watch = self.change_watch
        wanted = () if watch is None else watch.wanted
        rest = dict(self._config), self.remarks_enabled, wanted
        return PassContext.restored, (*settings, *rest)

    def __repr__(self) -> str:
        instruments = [getattr(one, "name", "?") for one in self._instruments]
        return (
            f"PassContext(opt_level={self._opt_level}, "
            f"required_pass={list(self._required)}, "
            f"disabled_pass={list(self._disabled)}, instruments={instruments}, "
            f"config={dict(self._config)})"
        )


_active: ContextVar[tuple[PassContext, ...]] = ContextVar("parpass_active", default=())
_default: ContextVar[PassContext | None] = ContextVar("parpass_default", default=None)


def in_force(context: PassContext) -> setting[tuple[PassContext, ...]]:
    """Make a context current for the block without calling its instruments' hooks.

    For workers, which receive a context that the coordinator has entered.
    """
    return setting(_active, (*_active.get(), context))
