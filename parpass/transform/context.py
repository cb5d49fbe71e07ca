"""PassContext: the settings in force while passes run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType, TracebackType
from typing import Any, Self, cast

from parpass.diagnostic import DiagnosticContext
from parpass.errors import ArgumentError, PassContextError
from parpass.transform.config import checked_config, list_config_options
from parpass.transform.hooks import (
    checked_instruments,
    enter_instruments,
    exit_instruments,
)
from parpass.transform.info import PassInfo, names
from parpass.transform.saying.record import current_recorder, inside_function_pass


class PassContext:
    """Which passes run, with which options, watched by which instruments.

    `with PassContext(opt_level=3):` makes it the current one. State is kept for each
    contextvars context: a trio or asyncio task inherits its parent's current context,
    and entering another one does not show outside of the task. Nested contexts do not
    merge; the innermost one alone is in force.

    Args:
        opt_level: A `Sequential` runs the passes of this level and below.
        required_pass: Names of passes that run whatever their level, and that no
            instrument can veto.
        disabled_pass: Names of passes that do not run; stronger than the above.
        instruments: Called around each pass, in this order.
        config: Values of registered options by key.

    Raises:
        ArgumentError: An argument is of the wrong kind.
        ConfigError: An option is unknown or its value ill-typed.
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
        self._required = names(required_pass or (), "required_pass")
        self._disabled = names(disabled_pass or (), "disabled_pass")
        self._instruments = checked_instruments(instruments)
        self._config = checked_config(config or {})
        self._diag_ctx: DiagnosticContext | None = None
        self._statistics: dict[str, Counter[str]] = {}

    @classmethod
    def restored(
        cls,
        opt_level: int,
        required_pass: tuple[str, ...],
        disabled_pass: tuple[str, ...],
        config: Mapping[str, Any],
    ) -> PassContext:
        """Return a context whose options were checked before, in another process."""
        context = cls(opt_level, required_pass, disabled_pass)
        context._config = MappingProxyType(dict(config))
        return context

    @property
    def opt_level(self) -> int:
        """The optimisation level."""
        return self._opt_level

    @property
    def required_pass(self) -> tuple[str, ...]:
        """The names of passes that run whatever their level."""
        return self._required

    @property
    def disabled_pass(self) -> tuple[str, ...]:
        """The names of passes that do not run."""
        return self._disabled

    @property
    def instruments(self) -> tuple[Any, ...]:
        """The instruments; see `override_instruments`.

        The body of a function pass, which may run in another process, is shown none.
        """
        return () if inside_function_pass() else self._instruments

    @property
    def config(self) -> Mapping[str, Any]:
        """The options that were set, by key, converted to their types; read-only."""
        return self._config

    @property
    def diag_ctx(self) -> DiagnosticContext | None:
        """Where a pass emits diagnostics; outside of passes what the last one said.

        That is, the last one that said anything; None if none did.
        """
        recorder = current_recorder()
        return self._diag_ctx if recorder is None else recorder.diag_ctx

    @diag_ctx.setter
    def diag_ctx(self, value: DiagnosticContext | None) -> None:
        self._diag_ctx = value

    @property
    def function_name(self) -> str | None:
        """The name of the function that a function pass is running on, if one is."""
        recorder = current_recorder()
        return None if recorder is None else recorder.function_name

    def count(self, counter: str, amount: int = 1) -> None:
        """Add to a counter of the pass that is running; outside of passes do nothing.

        The counters of a pass over all functions end up in `statistics`, under the
        pass's name, in serial and in parallel runs alike.
        """
        recorder = current_recorder()
        if recorder is not None:
            recorder.counters[counter] += amount

    @property
    def statistics(self) -> dict[str, Counter[str]]:
        """What passes have counted so far, by their names.

        The body of a function pass is shown none, as it may run before others have
        come to their end.
        """
        return {} if inside_function_pass() else self._statistics

    def pass_enabled(self, info: PassInfo) -> bool:
        """Return whether a `Sequential` under this context runs a pass."""
        if info.name in self._disabled:
            return False
        return info.name in self._required or self._opt_level >= info.opt_level

    def override_instruments(self, instruments: Iterable[Any] | None) -> None:
        """Exit the present instruments and enter these in their place.

        If an exit hook raises, all were exited nevertheless, so the list is empty then:
        one that always fails is rid of, too. If an enter hook raises, the new ones are
        kept in the list but not entered, as when entering a context fails.

        Raises:
            PassContextError: This is the body of a function pass.
        """
        if inside_function_pass():
            raise PassContextError(
                "the body of a function pass cannot override instruments: it may run "
                "in another process; write a module pass"
            )
        new = checked_instruments(instruments)
        old, self._instruments = self._instruments, ()
        exit_instruments(old)
        self._instruments = new
        enter_instruments(new)

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context entered here, else this place's default one."""
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
        """Return the registered options, each with the name of its type."""
        options = list_config_options().items()
        return {key: {"type": option.kind.__name__} for key, option in options}

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same context as `other`."""
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
        # Instruments watch where they are; they do not travel.
        settings = (self._opt_level, self._required, self._disabled)
        return PassContext.restored, (*settings, dict(self._config))

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


class in_force:  # noqa: N801 -- used like a function, as contextlib's own
    """Make a context the current one without calling its instruments' hooks.

    For the workers, where a context arrives as a snapshot that is entered already. It
    is no generator, for `contextlib` writes to an exception that comes through one, and
    those of users may be frozen.
    """

    __slots__ = ("_context", "_token")

    def __init__(self, context: PassContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._token = _active.set((*_active.get(), self._context))

    def __exit__(self, *_: object) -> None:
        _active.reset(self._token)
